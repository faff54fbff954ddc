"""Providers that a user is likely to hold a key of. Keys are looked for, never read out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    """A provider by its litellm prefix, the variables that may hold its key, and a reasoning model to start with."""

    name: str
    keys: tuple[str, ...]
    model: str

    def has_key(self, environ: Mapping[str, str]) -> bool:
        return any(environ.get(key) for key in self.keys)


PROVIDERS = (
    Provider("openai", ("OPENAI_API_KEY",), "openai/gpt-5.6"),
    Provider("anthropic", ("ANTHROPIC_API_KEY",), "anthropic/claude-opus-5-5"),
    Provider("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini/gemini-pro-latest"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek/deepseek-v4-pro"),
    Provider("xai", ("XAI_API_KEY",), "xai/grok-4.7"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistral/magistral-medium-latest"),
    Provider("moonshot", ("MOONSHOT_API_KEY",), "moonshot/kimi-k3"),
    Provider("zai", ("ZAI_API_KEY",), "zai/glm-5.3"),
    Provider("groq", ("GROQ_API_KEY",), "groq/openai/gpt-oss-120b"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "openrouter/openai/gpt-5.1"),
)
"""In the order of preference where several keys are set."""


def default_model(environ: Mapping[str, str]) -> str | None:
    """The model to ask when none is named: that of the first provider whose key is set."""
    return next((provider.model for provider in PROVIDERS if provider.has_key(environ)), None)


def keys_present(environ: Mapping[str, str]) -> dict[str, bool]:
    """Which of the providers' key variables are set, by the variable's name."""
    return {key: bool(environ.get(key)) for provider in PROVIDERS for key in provider.keys}


def provider_named(name: str) -> Provider | None:
    return next((provider for provider in PROVIDERS if provider.name == name), None)
