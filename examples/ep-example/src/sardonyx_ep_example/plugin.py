"""What Sardonyx finds through the entry point; nothing here can fail."""

from sardonyx.ep import Provider, ProviderInfo, hook


def create(options):
    """A provider for one session; its kernels are imported when somebody uses it."""
    from sardonyx_ep_example.kernels import ops

    provider = Provider(options)
    provider.kernels = ops
    return provider


@hook
def sardonyx_provider():
    """The provider."""
    return ProviderInfo(name="example", create=create, priority=-10, description="a dozen operators in numpy")
