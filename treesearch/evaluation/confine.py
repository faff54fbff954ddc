"""Start a command under limits: `python confine.py SETTINGS COMMAND…` sets them and becomes the command.

SETTINGS is JSON: `memory` and `file` in bytes (0: unlimited), `parent`: the process id to die with. A separate
program, because setting limits between fork and exec is unsafe in a process that has threads.
"""

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38

settings = json.loads(sys.argv[1])
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if os.getppid() != settings["parent"]:  # the parent died before the first prctl
    sys.exit(1)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for limit, key in ((resource.RLIMIT_AS, "memory"), (resource.RLIMIT_FSIZE, "file")):
    if settings[key]:
        resource.setrlimit(limit, (settings[key], settings[key]))
os.execvp(sys.argv[2], sys.argv[2:])
