"""The contract between core and a provider (C8 to C14): inputs, outputs, threads, errors, memory, claims, options, probing."""
