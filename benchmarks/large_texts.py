"""The texts of a large archive: ideas, sources, prompts, answers and errors as long as those of a search, or nearly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from treesearch.records import Category, Idea, Status

BLOCKS = 9
"""Functions of a source, each some 300 characters long."""
TARGETS = (
    "the input tile",
    "partial sums",
    "the output rows",
    "the weights",
    "the bias",
    "the epilogue",
    "the index map",
)
CHANGES: dict[Category, tuple[str, ...]] = {
    Category.MEMORY: ("Stage {} in shared memory", "Store {} past the cache", "Read {} as 16-byte vectors"),
    Category.ASYNCHRONY: ("Prefetch {} two tiles ahead", "Double-buffer {}", "Issue the loads of {} early"),
    Category.PRECISION: ("Accumulate {} in two halves", "Round {} to tf32 once", "Keep {} packed as half2"),
    Category.COMPUTE: ("Replace the division in {} by a reciprocal", "Use mma for {}", "Fold constants into {}"),
    Category.PARALLELISM: ("Split {} over more blocks", "Give each warp four rows of {}", "Halve the registers of {}"),
    Category.CONTROL_FLOW: ("Unroll the loop over {}", "Hoist the bounds check of {}", "Fuse the passes over {}"),
}
MECHANISM = (
    "The profile says that {} is limited by how long its loads take, and nothing else waits for them. With the change "
    "each line is fetched once for all threads of a block, so the traffic falls by about {} % and what remains is "
    "spread evenly over the call. Nothing else of the kernel changes, and sums are taken in the same order as before."
)
TASK = "You write one file of {}, from which a program measures how fast the operation is.\n" + (
    "The contract: launch only enqueues; it allocates nothing and keeps no state between calls.\n" * 12
)
ERRORS: dict[Status, str] = {
    Status.NO_CODE: "the answer holds no fenced block of code",
    Status.BUILD_FAILED: "kernel: In function 'stage_{0}':\nkernel:{1}:17: error: 'tile_{0}' was not declared in this "
    "scope; did you mean 'tile'?\n   {1} |     sum += tile_{0}[i] * scale;\n      |            ^~~~~~\n",
    Status.CRASHED: "the worker ended with signal 11 (segmentation fault) in call {0} of the deck",
    Status.TIMED_OUT: "call {0} was not over after 20 s",
    Status.BROKE_CONTRACT: "launch allocates memory: cudaMalloc was called in call {0}",
    Status.WRONG: "call {0}, nominal: row {1} of out is off by 0.031 of its norm, of which 0.01 is tolerated; 1.25 "
    "where 1.5 was expected at ({1}, 17)",
    Status.SUSPECT: "faster than {0} MB can be moved: 0.0{1} ms where the bytes alone take 0.9 ms",
}


@dataclass(frozen=True)
class Code:
    """A source by what its functions are numbered: a child shares most of them with its parent."""

    language: str
    blocks: tuple[int, ...]

    def changed(self, random: Random) -> Code:
        """With one to three functions written anew."""
        blocks = list(self.blocks)
        for place in random.sample(range(BLOCKS), random.randint(1, 3)):
            blocks[place] = random.randrange(1_000_000)
        return replace(self, blocks=tuple(blocks))

    @property
    def text(self) -> str:
        stream = ", cudaStream_t stream" if self.language == "cuda" else ""
        stages = "".join(_stage(place, number) for place, number in enumerate(self.blocks))
        calls = "".join(f"  stage_{place}(x, out, elements);\n" for place in range(BLOCKS))
        head = f'extern "C" int launch(const float* x, float* out, void* scratch{stream}) {{\n'
        return f'#include "problem.h"\n\n{stages}{head}{calls}  return 0;\n}}\n'


def _stage(place: int, number: int) -> str:
    return (
        f"// Stage {place}, {number}: {TARGETS[number % len(TARGETS)]}, {number % 61 + 4} elements at a time.\n"
        f"static inline void stage_{place}(const float* x, float* out, long count) {{\n"
        f"  for (long i = {number % 7}; i < count; i += {number % 61 + 4}) {{\n"
        f"    const float scale = {1 + number / 1e6:.6f}f;\n"
        f"    out[i] = x[i] * scale + {number % 97}.0f;\n"
        "  }\n}\n\n"
    )


def first_code(language: str, random: Random) -> Code:
    return Code(language, tuple(random.randrange(1_000_000) for _ in range(BLOCKS)))


def idea(random: Random) -> Idea:
    category = random.choice(tuple(Category))
    target = random.choice(TARGETS)
    title = random.choice(CHANGES[category]).format(target)
    mechanism = MECHANISM.format(target, random.randint(5, 60))
    expected = round(1 + random.expovariate(6), 2)
    return Idea(title, category, mechanism, expected, random.choice(("low", "medium", "high")), "The time stays.")


def prompt(language: str, about: str) -> str:
    return f"{TASK.format(language)}\nThis is what you start from:\n\n```{language}\n{about}```\n\nMake it faster.\n"


def ideas_answer(ideas: list[Idea]) -> str:
    return "\n\n".join(f"## {one.title}\ncategory: {one.category}\n{one.mechanism}" for one in ideas)


def kernel_answer(language: str, source: str | None, one: Idea | None) -> str:
    said = one.mechanism if one else "A straightforward kernel, one pass over the data."
    return f"{said}\n\n```{language}\n{source}```\n" if source else f"{said}\n\nI would need to see the profile first."


def error(status: Status, random: Random) -> str:
    """Why a kernel is what it is; empty for a verified one."""
    return ERRORS.get(status, "").format(random.randint(1, 8), random.randint(10, 99))
