"""What a compiled kernel may have the dynamic loader look up: libraries and functions, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Imports:
    """The libraries and functions that kernels of a language have a use for. What is not listed is refused."""

    libraries: tuple[str, ...]
    """Regular expressions of whole names, such as `libm\\.so\\.\\d+`."""
    functions: tuple[str, ...]
    """Regular expressions of whole names; variables and type information count as functions here."""
    exceptions: tuple[str, ...] = ()
    """Regular expressions of what is refused although `functions` has it, found anywhere in a name."""
    advice: str = ""
    """What a kernel should do instead, as the end of a sentence."""

    @cached_property
    def _library(self) -> re.Pattern[str]:
        return re.compile("|".join(self.libraries))

    @cached_property
    def _function(self) -> re.Pattern[str]:
        return re.compile("|".join(self.functions))

    @cached_property
    def _exception(self) -> re.Pattern[str]:
        return re.compile("|".join(self.exceptions) or r"(?!)")

    def has_library(self, name: str) -> bool:
        return bool(self._library.fullmatch(name))

    def has_function(self, name: str) -> bool:
        return bool(self._function.fullmatch(name)) and not self._exception.search(name)


def _any(words: str) -> str:
    """Any of the words, each a regular expression."""
    return f"(?:{'|'.join(words.split())})"


# ── the C library ───────────────────────────────────────────────────────────────────────────────

MEMORY = _any(
    "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign malloc_usable_size mem(p?cpy|move|"
    "set|cmp|r?chr|mem|ccpy) rawmemchr bcmp bcopy bzero wmem(cpy|move|set|cmp|chr) wcslen"
)
TEXT = _any(
    "strn?(len|cmp|casecmp|cpy|cat|dup) st[rp]n?cpy strr?chr strchrnul strstr strc?spn strpbrk strtok_r strerror "
    "(__isoc23_)?strto(d|f|ld|l|ll|ul|ull|imax|umax) ato(i|l|ll|f) "
    "is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit) to(lower|upper) "
    "__ctype_(b|tolower|toupper)_loc"
)
ARITHMETIC = _any("l?l?abs imaxabs l?l?div imaxdiv qsort qsort_r bsearch rand_r")
PRINTING = _any(
    "(v?f?printf|v?sn?printf) puts putc putchar fputc fputs fwrite fflush stdout stderr _IO_putc __overflow "
    "__v?f?printf_chk __v?sn?printf_chk"
)
CHECKED = r"__(?:mem(?:p?cpy|move|set)|str(?:n?cpy|n?cat)|stpn?cpy)_chk|__(?:explicit_)?bzero_chk"
ENDING = _any("abort __assert_fail __assert __stack_chk_fail __fortify_fail __chk_fail __errno_location")
PROCESSORS = _any("sysconf get_nprocs get_nprocs_conf sched_getcpu sched_yield")
THREADS = _any(
    "pthread_(create|join|detach|self|equal|once|exit) pthread_(attr|mutex|mutexattr|cond|condattr|rwlock|spin|barrier|"
    "barrierattr)_(init|destroy) pthread_attr_(get|set)(detachstate|stacksize|guardsize) pthread_mutexattr_settype "
    "pthread_mutex_((try)?lock|unlock) pthread_cond_(wait|signal|broadcast) pthread_rwlock_((try)?(rd|wr)lock|unlock) "
    "pthread_spin_((try)?lock|unlock) pthread_barrier_wait pthread_(get|set)specific (__)?pthread_key_(create|delete) "
    "sem_(init|destroy|wait|trywait|post) __libc_single_threaded"
)
LINKER = _any("__gmon_start__ _ITM_(de)?registerTMCloneTable __tls_get_addr __emutls_get_address _DYNAMIC __dso_handle")

# ── arithmetic in the C and the compiler's libraries ────────────────────────────────────────────

_REAL = (
    "a?(cos|sin|tan)h? atan2 a?(sin|cos)pi a?tanpi atan2pi cbrt ceil copysign erfc? exp exp2 exp10 expm1 fabs "
    "fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma gamma tgamma llrint llround log log10 log1p "
    "log2 logb lrint lround modf nan nearbyint nextafter nexttoward nextup nextdown pow pow10 remainder drem "
    "remquo rint round roundeven scalb scalbln scalbn significand sincos sqrt trunc j0 j1 jn y0 y1 yn finite "
    "isnan isinf canonicalize fm(ax|in)imum(_mag)?(_num)? fm(ax|in)mag u?fromfpx? llogb getpayload "
    "setpayload(sig)? totalorder(mag)?"
)
_COMPLEX = "c(abs|acosh?|arg|asinh?|atanh?|cosh?|exp|imag|log|log10|pow|proj|real|sinh?|sqrt|tanh?) conj"
_ENVIRONMENT = (
    "fe(clear|raise|test)except fe(get|set)(env|round|exceptflag|mode) feholdexcept feupdateenv fe(get|set)except "
    "fe(dis|en)ableexcept"
)
MATHEMATICS = (
    rf"{_any(_REAL + ' ' + _COMPLEX)}(?:f|l|f16|f32|f32x|f64|f64x|f128)?(?:_r)?",
    rf"__{_any(_REAL)}(?:f|l|f128)?(?:_r)?_finite",
    r"__(?:fpclassify|signbit|finite|isnan|isinf|issignaling|iseqsig)(?:f|l|f128)?",
    r"[fd]?(?:add|sub|mul|div|sqrt|fma)l?",
    _any(_ENVIRONMENT),
    r"signgam|__signgam|_LIB_VERSION",
    r"_ZGV[a-z][NM]\d+[vlRULs\d]*_\w+",  # libmvec: what `omp simd` makes of a call to libm
)
COMPILER = (
    r"_Unwind_\w+|__gcc_personality_v0|__cpu_(?:model|indicator_init|features2)|__clear_cache",
    r"__(?:add|sub|mul|u?div|u?mod|u?divmod|neg|abs|ashl|ashr|lshr|u?cmp|clz|ctz|clrsb|ffs|parity|popcount|bswap|powi|eq|ne|"
    r"lt|le|gt|ge|unord)v?[sdtxhb][icf]\d",
    r"__(?:extend|trunc|fix|fixuns|float|floatun)(?:[sdtxhb][if]){2}\d?",
    r"__atomic_(?:load|store|exchange|compare_exchange|fetch_\w+|is_lock_free)\w*",
)

# ── OpenMP and C++ ──────────────────────────────────────────────────────────────────────────────

OPENMP = r"GOMP_\w+|omp_\w+"
NOT_OPENMP = (r"^GOMP_(?:target|offload|OFFLOAD)", r"^omp_(?:target|pause)", r"^omp_get_w(?:time|tick)$")
"""Work on other devices, for which libgomp loads libraries; what ends its threads; clocks."""
CXX = (
    r"__cxa_\w+|__gxx_personality_v0|__dynamic_cast|__once_proxy",
    r"_Zn[wa]m\w*|_Zd[la]Pv\w*",  # operators new and delete
    r"_Z(?:GV|GR|Z|GTt)?(?:T[ISVTC]|T[chv]n?\d+_(?:n\d+_)?)?N?[VK]*(?:S[tabdios]|\d+__(?:gnu_|cxxabiv1))\w*",
    r"_ZT[IS]P?K?(?:[a-z]|D[a-z])",  # type information of what is built in
)
NOT_CXX = (
    "10filesystem",
    "basic_(?:file|[io]?fstream)",
    "stdio_(?:sync_)?filebuf",
    "13random_device",
    r"(?<!wait_untilEPjjbNSt)(?<!wait_until_steadyEPjjbNSt)6chrono",  # std::future waits through these
    "11__sleep_for",
    "3cin|4wcin",
    r"St6localeC[12]E\w*PKc|6locale6global",
    "St8messages|messages_byname|__intl",
    "__freeres",
)
"""Of libstdc++, what opens files, reads the commands meant for the worker, tells the time or sleeps."""

HOST = Imports(
    libraries=(r"lib(?:c|m|mvec|gomp|gcc_s|stdc\+\+|pthread|atomic)\.so\.\d+", r"ld-linux[\w-]*\.so\.\d+"),
    functions=(
        *(MEMORY, TEXT, ARITHMETIC, PRINTING, CHECKED, ENDING, PROCESSORS, THREADS, LINKER),
        *(*MATHEMATICS, *COMPILER, OPENMP, *CXX),
    ),
    exceptions=(*NOT_OPENMP, *NOT_CXX),
)
"""C and C++ without files, network, processes, signals, clocks, sleep and other libraries."""

# ── the CUDA runtime ────────────────────────────────────────────────────────────────────────────

RUNTIME = _any(
    "__cuda(Un)?[rR]egister(FatBinary|FatBinaryEnd|Function|Var|UnifiedTable) "
    "__cuda(Push|Pop)CallConfiguration __cudaInitModule __cudaGetKernel __cudaLaunchKernel(_ptsz)? "
    "cudaLaunch(Kernel|KernelExC|CooperativeKernel)(_ptsz)? cuda(Get|PeekAt)LastError cudaGetError(Name|String) "
    "cudaFunc(GetAttributes|SetAttribute|SetCacheConfig|SetSharedMemConfig|GetName) cudaOccupancy\\w+ "
    "cudaGetDevice cudaGetDeviceCount cudaDeviceGetAttribute cudaGetDeviceProperties(_v2)? "
    "exit cuda(Runtime|Driver)GetVersion cudaMem(cpy|set)([23]D)?Async(_ptsz)? cudaMemcpyToSymbolAsync(_ptsz)? "
    "cudaGetSymbol(Address|Size) cudaGetDriverEntryPoint(ByVersion)?(_ptsz)? cudaGetFuncBySymbol"
)

HOST_AND_RUNTIME = Imports(
    libraries=(*HOST.libraries, r"libcudart\.so\.\d+"),
    functions=(*HOST.functions, RUNTIME),
    exceptions=HOST.exceptions,
    advice="a launch only enqueues work on its stream, and gets its memory as scratch",
)
"""Of the CUDA runtime what launches, asks or enqueues. Nothing that allocates, `__managed__` variables included,
or waits, makes streams, or sets limits. nvcc makes the host's side of every device function call `exit`."""

# ── libraries that a problem may allow ──────────────────────────────────────────────────────────

_BLAS = r"cblas_\w+|[sdcz][a-z0-9]{2,7}_"
LIBRARIES = {
    "cublas": r"cublas\w+",
    "cublasLt": r"cublasLt\w+",
    "cudnn": r"cudnn\w+",
    "cufft": r"cufft\w+",
    "curand": r"curand\w+",
    "cusolver": r"cusolver\w+",
    "cusparse": r"cusparse\w+",
    "blas": _BLAS,
    "openblas": rf"{_BLAS}|openblas_\w+",
    "mkl_rt": rf"{_BLAS}|mkl_\w+",
    "dnnl": r"dnnl_\w+|_ZNK?4dnnl\w+",
    "fftw3": r"fftw_\w+",
    "fftw3f": r"fftwf_\w+",
}
"""Functions of the libraries that LIBRARIES of a problem may name, by what the linker calls them."""


def with_libraries(imports: Imports, names: tuple[str, ...]) -> Imports:
    """`imports`, and what the named libraries offer."""
    return Imports(
        (*imports.libraries, *(rf"lib{re.escape(name)}\.so[.\d]*" for name in names)),
        (*imports.functions, *(LIBRARIES[name] for name in names)),
        imports.exceptions,
        imports.advice,
    )
