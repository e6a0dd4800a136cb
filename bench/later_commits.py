"""Which commits leave the results of bench/results.py as good as they were."""

from __future__ import annotations

# The code that the workloads run: without what only reads traces, simulates, declares options or
# loads the interposer, and without what runs only if ranks are on several nodes.
MEASURED = [
    f"src/{folder}"
    for folder in (
        *("arena", "engine", "extent", "mpiio"),
        *("page", "policy", "predict", "runtime", "storage"),
    )
]
AGENTS = [f"src/{folder}" for folder in ("agent", "channel", "domain")]
# Of the folders above, what only options use that no case has.
OTHER_VARIANTS = [
    f":(exclude,glob)src/{files}"
    for files in (
        "policy/informed.*",
        "predict/forecast.*",
        "predict/foresight.h",
        "predict/markov.*",
    )
]
SEVERAL_NODES = [
    f":(exclude,glob)src/{files}"
    for files in (
        *("engine/hand_over.h", "engine/cache_guests.h"),
        *("runtime/cache/hand_over.cpp", "runtime/cache/access_extents.*"),
        *("runtime/cache/bypass.cpp", "mpiio/library/mpi_channel.*"),
        *("mpiio/file/hand_over.*", "mpiio/file/handle_nodes.*"),
        *("mpiio/file/ranks_by_node.h", "mpiio/file/job_owners.*"),
        *("mpiio/file/stripes.*", "mpiio/file/collective_exchange.*"),
        *("mpiio/file/owners_parts.*", "mpiio/file/open_facts.*"),
    )
]
# Commits that touch these files but change the path of an access of one node's ranks in few
# workloads, or in none. The results of the others are as good after them as before.
COLLECTIVE = ("tile-io", "tile-io-small", "lattice", "btio", "sliding-window", "points")
LONG_READS = ("stream", "ior-easy", "mpi-io-test", "pio", "pio-nested")
REOPENS = ("checkpoint", "open")
SMALL_READS = ("small", "small-parts", "strided-read", "record-read", "tile-io-small")
CHANGED_ON_ONE_NODE: dict[str, tuple[str, ...]] = {
    "7bb231187c0d7466957ea31a2266251197d0c833": (),  # opens on several nodes
    "ac78fde1da44d0d5447fe85a5f4b04d19fdb7e11": (),  # leaving the directory
    "17d1233ab689ca5cf09cf2d7635d4ca9efe99812": (),
    "6a13d9dd9597ff61e172d6d2df8664b2031d7202": (),  # the exchange between nodes
    "ea298431e39e317fbf808acde8131b2e8610732c": (),  # long runs on NFS, between nodes
    "0ac0c32599e692de911e57926cd6301e3a15421b": COLLECTIVE,  # ranks wait at collective accesses
    "286982d6af694c82348b0270b4eb2e6a3bb1a242": COLLECTIVE,
    "f6e64e900daf8309e5582ae3a7f0d56840198ab0": COLLECTIVE,
    "bc4a39c09d4dcbdfaf161112b3f3088e78f8197e": COLLECTIVE,
    "7fb4f9725e8a2bcb0aba036f5e22f3cb72fb7ede": (),  # how ranks of several nodes wait
    "67de48b7dd8ffd5be3df72939f97e424be2fc47b": (),  # the same waits in other words
    "f814502c1df1e00e88c073923f8da1746b87b494": (),  # the words of a reason
    "7880866b9afbd0370b3930e31002f9b5492b1ca6": (),  # copies, between nodes
    "a6cfe5819c86d71dc5b1b53ed54df10c4f31c335": (),  # what owners served, in the statistics
    "d8bfb97bc40ec97841816b41b9cf9f09351aebf9": (),  # comments
    "39cc33e7d5f8eeff929120ebb011d84865d4047f": (),  # comments
    "66819f06d1e217748068b190c01e2a017ac8ae89": (),  # long runs between nodes
    # Reads of small extents where nothing is dirty, and the first open of a launch.
    "8dda06768372e7333afb4f5bc4b84cf5a235bb00": SMALL_READS,
    "2b9a949317d51eaf6be6a7b6418d2869114c4478": (),  # one addition in MPI_File_set_view
    # A fifth of a millisecond less in the first open of a launch.
    "71923441c70b2d98a5fd2fa163efa2cfb290a50d": ("tile-io-small", "open"),
    "648c0a68a0a5c91bd43b90b13e022e9833f0def8": LONG_READS,
    "c0878ae2a88d0af9ef24090b8bd04789627a0d61": REOPENS,
    "48c9f727333a86b7bea447a09b4869716d7617c0": REOPENS,
    "737745d7e3c150a85234c751473f834f9c0dff38": REOPENS,
    "441254819de9f00e8e5d598fa8f4d9fafa521456": REOPENS,
    "8440a1196129d454848fc457ec8cb87dbbd2ea3b": (),  # the directory of a job on several nodes
    "b0e2c58e055cbcb37827d1cc8d5a014e6d2e691b": (),  # kept pages of other nodes
    "8057415cf59629f63c87bb4b54ccbea9b390e8b3": (),  # agents start when they are needed
    "41a3e3aa454dd208bc5636d5db810d837df084f3": (),  # long reads between nodes
    # A close asks for the file's stamp once less; what is counted elsewhere.
    "05d5c8e4b308cd2911ccd695a37cbcd7e9944556": REOPENS,
    "1e00a7326627c5325a1dc4273b9e4406a78e6211": (),  # pages of other nodes
    "4a5229b0b17c70f84c0420f702096ef7d2b2cf93": (),  # owners' parts
    "a001d7d2dc1766f57fbbebcdde112ec76f90cb99": (),  # the same
    "b7bf0df483be3c921c7f81cb749ccb8d624faeb9": (),  # shared pointers of several nodes
    "1395a95a849d7f061fcdb61723ca3c366a6c61ad": (),  # many short segments, of a hand-over
    # How ranks agree where they share cores: at opens.
    "b292a314b70530904e7c88638f1810387d1666bc": ("open", "small", "flash", "tile-io-small"),
    # The shards of pages: pieces of arrays, in caches smaller than these.
    "ea28fa155763f6c9a70c2b2c906c8a15f1b25232": ("lattice", "points"),
}
# Likewise for ranks of several nodes; the files of AGENTS, too.
CHANGED_ON_SEVERAL_NODES: dict[str, tuple[str, ...]] = {
    "7bb231187c0d7466957ea31a2266251197d0c833": REOPENS,  # an open asks less
    "ac78fde1da44d0d5447fe85a5f4b04d19fdb7e11": REOPENS,  # a close waits for all its ranks
    # What owners fetch ahead; windows after independent accesses.
    "17d1233ab689ca5cf09cf2d7635d4ca9efe99812": ("lattice", "ior-hard"),
    # The shards of pages: what fills a large part of a cache.
    "ea28fa155763f6c9a70c2b2c906c8a15f1b25232": ("tile-io", "lattice", "sliding-window"),
    "648c0a68a0a5c91bd43b90b13e022e9833f0def8": LONG_READS,
    "c0878ae2a88d0af9ef24090b8bd04789627a0d61": REOPENS,
    "48c9f727333a86b7bea447a09b4869716d7617c0": REOPENS,
    "737745d7e3c150a85234c751473f834f9c0dff38": REOPENS,
    "441254819de9f00e8e5d598fa8f4d9fafa521456": REOPENS,
    "8440a1196129d454848fc457ec8cb87dbbd2ea3b": REOPENS,
    "b0e2c58e055cbcb37827d1cc8d5a014e6d2e691b": REOPENS,
    "8057415cf59629f63c87bb4b54ccbea9b390e8b3": REOPENS,
    "498190ca9a23f5bd7c6f11884107922eebc83c1b": REOPENS,
    "05d5c8e4b308cd2911ccd695a37cbcd7e9944556": REOPENS,
    "41a3e3aa454dd208bc5636d5db810d837df084f3": LONG_READS,
    "1e00a7326627c5325a1dc4273b9e4406a78e6211": REOPENS,
    "4a5229b0b17c70f84c0420f702096ef7d2b2cf93": COLLECTIVE,
    "a001d7d2dc1766f57fbbebcdde112ec76f90cb99": (),  # an assignment that no case has
    "b7bf0df483be3c921c7f81cb749ccb8d624faeb9": (),  # shared pointers
    "1395a95a849d7f061fcdb61723ca3c366a6c61ad": ("small",),
}
# Commits that touch these files and change no way that a workload takes.
CHANGED_NOWHERE = frozenset(
    {
        "46b335f33b6439256243cfa9f838b3aabf0bde58",  # file systems whose clients keep bytes
        "b0d61b162cf20eecd0a84bdfcd04e331105429b5",  # file systems whose clients keep bytes
        "7cae9c5e3e04d7d6d607f695231057eaf02e3b38",  # file systems whose clients keep bytes
        "8a37b9f5e86318009f268d05cbb175fc93372512",  # file systems whose clients keep bytes
        "5904e9ea3f92f14089fd29075ecf3f0be8499c72",  # file systems whose clients keep bytes
        "910af1df2da72f0de44631516a0fea2b14f52ec1",  # file systems whose clients keep bytes
        "453cb4a8afc958fc4586e66158c38c819cd5ce1c",  # file systems whose clients keep bytes
        "e8ca5bf03ca5cb5a51aa1bd786f90da791075f4b",  # file systems whose clients keep bytes
        "1d68d0fb209f7123f310276b2c789c7dca9f1e99",  # file systems whose clients keep bytes
        "4ab99ae0ff085f05661120f149d44b9fc27573c1",  # an answer without bytes
        "0d4ff5438c5853680967c54150748f08fd3059a6",  # an answer without bytes
        "db0b98605abc50e4434f88c601f12f9dc4570d57",  # an answer without bytes
        "6f8fc7855a297af14b78c800ce8c2a728fd1adeb",  # names of steps
        "c8c466742db489372d33b894a044750aee424172",  # names of steps
        "16d86e8959b2d1172945079b8dd38d9b8171de5e",  # names of steps
        "95ab38b8b14db7364088df223f62036524c2815a",  # steps that answers tell
        "49b2c17e93911426d8820c018d25811a65452e57",  # steps that answers tell
        "cc9c5954676276a12abd43b15a01017d24b7bd15",  # opens beside closes
        "3319d0602fadd057d74a5fbe7576d6e198a94c87",  # opens beside closes
        "703f866480158cf63980915f997a7495a0777181",  # deterministic on several nodes
        "526ddfab7844be57cdb7b465c1a70612b2c8b8cd",  # deterministic on several nodes
        "9a8b4388030ee0f4e15c2f71c4c935f5b86527d4",  # deterministic on several nodes
        "4e82938a1aaa7907589dc64da4862a84f96a8795",  # deterministic on several nodes
        "9b7a01f931b8aaab7a87aa8ae6f31353eee4aaa4",  # deterministic on several nodes
        "c46b7528d3b11719680e5f435b66c0d7808a8405",  # transport=libfabric
        "5a622bf113adc9d52998a2e7b2e65fc3222a7b33",  # transport=libfabric
        "ced2866ddb2659a742c3a76bc35c367d9c1e8b08",  # transport=libfabric
        "1ebb98cbd247f5a70bdec372e03cba79b0c078a9",  # the owners of a file as a class
        "16f50c7dc1f1d18b9fe7989bff626a9abb250056",  # transport=libfabric
        "94304150d7b1ccba752f61d18b5b2580d4d7958c",  # transport=libfabric
        "ed298233fd62ff3ebe7c203e4a9be5c02ca60521",  # transport=libfabric
        "7920b6b6dd557b2e4bac111bd637b84e5249fe90",  # read-ahead after parts have changed
        "3ce4f389979538f9773890c4c848ca5a2d8d2511",  # reads of more than 2 MiB with pauses
        "40ed29a6828ccb4b5ba8595f948b80aae700430f",  # windows for fewer owners than nodes
        "4f77774bc54c8365da96a493651438d0b4528435",  # traces and deterministic runs
        "c6a6a084d38b5b42a2b9007756e0c03880dd26a3",  # a question less to the file system, of agents
        "1830af8aa8a96b505ad406199d237e4df2951667",  # an include
        "6f4858899b4fee7963ac90f418c69bb9b4af1d4c",  # files that lose their names
        "de1489a82079bdbcf284dfe94edf6c2a203158ea",  # files that lose their names
        "0d87512cfcd864e8283d74101b16d2bfe915a14b",  # how ranks become a job
        "c1f6017ca7464f3c911dc6d535493d0f0c69a417",  # traces
        "f5e92f32fd97c5b343aca1ffcfd94c73ee999330",  # how ranks become a job; reads by no case
        "8e13bb7d2617327895653660cebe933d715686a7",  # the same windows in another place
        "98b00aee437496abed0ccc3a2eeca105822e702a",  # inside the launcher
        "37313f7d51ec357cbcc100000059cc5944c056de",  # when the committer starts
        "8fec698be968af8e37b8dcd4cfd06fa75cd40f0d",  # words
        "eb86b935491c6a3ffb0d9d46cd5219413789c5de",  # atomic mode
        "95cd8532bbd301ef010ff336e5d085f1be6b3445",  # memory
        "68534a8b864ec64576cf09df36c6de03a1c221a0",  # a count
        "24a035af1033552122275033b717418e1ff5d234",  # beside what is measured
        "49f29e2c5f0902bb2e921126e7bb7ca2699cdd02",  # beside what is measured
        "8463508fdf95135bac61026035ed0d224960e819",  # beside what is measured
        "7fd27c7c2f8f57d5e754a9930ef30c65dd83ecbd",  # beside what is measured
        "7073241aadc7e84ddb76e479992213cb6c046590",  # first reads of others
        "8d9411f9983537a6281f9f1d69688605baa6987b",  # ends of jobs
        "ee789612d308f7036a7bc0a3f0b6469437666df4",  # a type of a handle
        "ae3eac150df03202ae9391dccb43e67d679d2047",  # words
        "109262444ba41f3ef5fd340112bca663b9341a56",  # the same
        "ae67faf9a0dd4b8079bf202d507a80232a48fdf3",  # awareness
        "6d2475308c69f0ed5b24a7b832414d32c9e07b7b",  # where mknod is refused
        "98e6a38c3d8546cadf0b1dbdab82a8bae83ecc6a",  # another predictor
        "4333a9a1150afd318b965f712b7ee6287ecdf060",  # another policy
        "19976777aff79f070f9d0ad81655a87a066ebfdf",  # the same
        "2dd58b9172ef376efbd8446f73df6cadc515a60a",  # words
        "26b6a3aaab136e338bd668e362f2948026f282e9",  # one look at a coarse clock for each request
        "ede61b69bbfdbe9a5c4ee9528d5da366cfd2462c",  # what recovers
        "acd86e30af29fc97477411081f1e2510af010a56",  # what a committer removes
        "76d24aec7b264ae3f9725a23beaf777b16d6e7d7",  # layout of a line
        # Collective accesses larger than those of the cases that were there before.
        "d8f207639ec8d7a81003301b5e38898f29a9724d",
        "a2a71dd0240b14d7da90223064a3c3c85dbcfbfa",
        "fa63fb7de761b253e459748a167c4e1de455808d",  # whether a process lives
        "f3a376915839fcf2b730a5117eacdb8aa2cee9d7",  # how a committer begins
        "1a395d380236c08474ea01674f16b407676bc715",  # an option that no case has
        "9eb3690422c8fa9f5350a4a611a88441df0c11cc",  # a library that no case loads
        "dcc7ba555429c3e61a56808999abb8931def6b30",  # statistics
        "32dc8b5b583fd5b4b96039ab216cb7aff02df312",  # words
        "fad9d7fc7fd2086ac015700fcac4edc4f01b20c1",  # the pace in other words
        "01383bd5085a4437434dcd2491074524b262b824",  # lines in other files
        "47a3d0343d56140fbf65639b0b17c04bfb70c726",  # a counter
        "09739ea1db2fc295434da72cef35df4d0bc93b90",  # another one
    }
)
