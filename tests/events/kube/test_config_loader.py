"""Reading a kubeconfig is shown to load kubernetes-asyncio's configuration, and never its models."""

import subprocess
import sys
import textwrap


def run(code):
    """A fresh interpreter: what this one has imported must not count."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_no_model_is_loaded_and_no_half_package_is_left():
    left = run("""
        import sys
        from events.kube.config_loader import borrow
        borrow()
        print(*[m for m in sys.modules if m.startswith("kubernetes_asyncio")])
        print(len(sys.modules) < 700)
    """)
    assert left == ["True"]


def test_a_borrowed_configuration_still_reads_kubeconfigs():
    said = run("""
        import asyncio
        from events.kube.auth import transport_of
        text = '''
        current-context: c
        contexts: [{name: c, context: {cluster: k, user: u}}]
        clusters: [{name: k, cluster: {server: "http://127.0.0.1:1/clusters/x"}}]
        users: [{name: u, user: {username: ann, password: secret}}]
        '''
        access = asyncio.run(transport_of(text)).credentials
        print(access._access.server, access._access.token)
    """)
    assert said == ["http://127.0.0.1:1/clusters/x", "Basic", "YW5uOnNlY3JldA=="]


def test_a_kubeconfig_with_a_token_is_read_without_it():
    said = run("""
        import asyncio, sys
        from events.kube.auth import transport_of
        text = '''
        current-context: c
        contexts: [{name: c, context: {cluster: k, user: u}}]
        clusters: [{name: k, cluster: {server: "http://127.0.0.1:1/clusters/x/"}}]
        users: [{name: u, user: {token: t}}]
        '''
        access = asyncio.run(transport_of(text)).credentials
        print(access._access.server, access._access.token, *{"urllib3", "kubernetes_asyncio"} & set(sys.modules))
    """)
    assert said == ["http://127.0.0.1:1/clusters/x", "Bearer", "t"]


def test_whoever_imports_the_package_afterwards_gets_the_whole_of_it():
    assert run("""
        from events.kube.config_loader import borrow
        borrow()
        import kubernetes_asyncio
        print(kubernetes_asyncio.client.CoreV1Api.__name__, kubernetes_asyncio.client.ApiClient.__module__)
    """) == ["CoreV1Api", "kubernetes_asyncio.client.api_client"]


def test_a_package_that_is_there_already_is_used_as_it_is():
    assert run("""
        import kubernetes_asyncio.config
        from events.kube.config_loader import borrow
        print(borrow()[0] is kubernetes_asyncio.config)
    """) == ["True"]


def test_making_a_client_of_the_borrowed_one_says_what_to_use():
    (said,) = run("""
        from events.kube.config_loader import borrow
        try:
            borrow()[0].kube_config.ApiClient()
        except RuntimeError as error:
            print(str(error).split()[-1])
    """)
    assert said == "events.kube.client.Kube"
