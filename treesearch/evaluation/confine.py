"""Start a command under limits: `python confine.py SETTINGS COMMAND…` sets them and becomes the command.

SETTINGS is JSON: `memory` and `file` in bytes (0: unlimited); `parent`: the process id to die with; `supervised`:
instead of becoming the command, stay above it, and kill the whole group when the parent dies. A separate program,
because setting limits between fork and exec is unsafe in a process that has threads.
"""

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38


def supervise() -> None:
    """Fork; the child returns, and the parent waits for it, passing on its end."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return
    if os.getppid() != settings["parent"]:
        os.killpg(0, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


settings = json.loads(sys.argv[1])
libc = ctypes.CDLL(None)
if settings["supervised"]:
    supervise()
else:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != settings["parent"]:  # the parent died before the call
        sys.exit(1)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for limit, key in ((resource.RLIMIT_AS, "memory"), (resource.RLIMIT_FSIZE, "file")):
    if settings[key]:
        resource.setrlimit(limit, (settings[key], settings[key]))
os.execvp(sys.argv[2], sys.argv[2:])
