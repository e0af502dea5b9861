"""Objects of add-ons on a cluster: written by server-side apply, compared with what they should be, and watched."""
