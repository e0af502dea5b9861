"""The back ends that can create clusters, one file each; a new file declares one."""
