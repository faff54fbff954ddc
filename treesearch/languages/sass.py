"""The instruction mix of CUDA kernels, from the machine code (SASS) that cuobjdump shows.

Opcodes are those of the CUDA Binary Utilities' tables for Ampere to Blackwell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from treesearch.languages import toolkit
from treesearch.languages.mix import Classes, Disassembler, Mix
from treesearch.languages.symbols import demangled

MBARRIER = "mbarrier"
"""The class of instructions that threads arrive on and wait for barriers in shared memory by."""
NAMED_BARRIER = "named barrier"
"""The class of instructions by which a number of a block's warps meet; `barrier` is what a whole block meets at."""

_FUNCTION = re.compile(r"^\s+Function : (\S+)$")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T\d]+\s+)?(BAR\.[^;]*|[A-Z][A-Z0-9_]*(?:\.\w+)*)")
"""An opcode; of a barrier its operands too, which say who meets there."""

_CLASSES = Classes(
    (
        (r"NOP\b", ""),
        (r"((?:[HIDQBO]G?|UTC[HIQO])MMA)\b", "tensor core {}"),
        (r"HADD2\.F32\b|F2F|F2I|I2F|F2FP|I2FP|I2I|F2IP|FRND", "conversion"),
        (r"FFMA", "FP32 FMA"),
        (r"F(?:ADD|MUL|MNMX|SEL|SET|CHK|SWZADD)", "FP32 other"),
        (r"H(?:FMA|ADD|MUL|SET|MNMX)", "FP16x2"),
        (r"D(?:FMA|ADD|MUL|SET|MNMX)", "FP64"),
        (r"MUFU", "special function MUFU"),
        (r"LDGSTS", "cp.async LDGSTS"),
        (r"((?:UTMA|UBLK)\w+)", "bulk copy {}"),
        (r"LDG\b(?:\.\w+)*?\.[SU]?(8|16|64|128|256)\b", "global load {}-bit"),
        (r"LDG\b", "global load 32-bit"),
        (r"STG\b(?:\.\w+)*?\.[SU]?(8|16|64|128|256)\b", "global store {}-bit"),
        (r"STG\b", "global store 32-bit"),
        (r"LDSM", "ldmatrix LDSM"),
        (r"LDS\b(?:\.\w+)*?\.[SU]?(8|16|64|128)\b", "shared load {}-bit"),
        (r"LDS\b", "shared load 32-bit"),
        (r"STSM", "stmatrix STSM"),
        (r"STS\b(?:\.\w+)*?\.[SU]?(8|16|64|128)\b", "shared store {}-bit"),
        (r"STS\b", "shared store 32-bit"),
        (r"LDL", "local load (spill or array)"),
        (r"STL", "local store (spill or array)"),
        (r"LD\b|ST\b", "generic load or store"),
        (r"ATOM|RED\b|REDG|REDS", "atomic"),
        (r"BAR\.[\w.]+\s+0x0\s*(?:,\s*!?U?P[T\d]+\s*)*$|UCGABAR", "barrier"),  # no count of threads, perhaps a vote
        (r"BAR\b", NAMED_BARRIER),
        (r"SYNCS|ARRIVES|USYNCS", MBARRIER),
        (r"(?:LDG)?DEPBAR|WARPGROUP|UTMACMDFLUSH|UTMACCTL", "wait for copy or tensor core"),
        (r"MEMBAR|(?:CGA)?ERRBAR|FENCE|CCTL", "fence"),
        (r"SHFL|VOTE|REDUX|CREDUX|MATCH|ELECT|UVOTE", "shuffle or vote"),
        (r"BRA\b|BRX|BRXU|JMP|JMX|CALL|RET", "branch"),
        (r"BSSY|BSYNC|BREAK|BMOV|WARPSYNC|YIELD|EXIT|ENDCOLLECTIVE|NANOSLEEP|ACQ|PREEXIT|KILL|U?SETMAXREG", "control"),
        (r"LDC|ULDC|LDCU", "constant load"),
        (
            r"U?(?:IADD|IMAD|ISETP|IMNMX|IABS|IDP|IMUL|LEA|LOP|PLOP|SHF|SHL|SHR|SEL|PRMT|POPC|FLO|BREV|BMSK|SGXT|MOV|P2R)"
            r"|R2P|R2UR|VIADD|VIMNMX|VABSDIFF|C?S2U?R|LEPC",
            "integer or address",
        ),
    ),
    other="other",
)


def _tool() -> str | None:
    return toolkit.find("cuobjdump")


def _command(tool: str, library: Path) -> list[str]:
    return [tool, "-sass", str(library)]


def mixes(text: str) -> tuple[Mix, ...]:
    """The mix of each device function, in the order of `cuobjdump -sass`."""
    found = tuple(_functions(text))
    names = demangled(tuple(dict.fromkeys(name for name, _ in found)))
    return tuple(_CLASSES.mix(names[name], opcodes) for name, opcodes in found)


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Mangled name and opcodes of each function that has any."""
    name, opcodes = "", list[str]()
    for line in text.splitlines():
        if match := _FUNCTION.match(line):
            if opcodes:
                yield name, opcodes
            name, opcodes = match[1], []
        elif name and (match := _INSTRUCTION.match(line)):
            opcodes.append(match[1])
    if opcodes:
        yield name, opcodes


CUOBJDUMP = Disassembler(_tool, _command, mixes)
