"""The rooms of a check, which `devlint.engine` puts together.

files         the files that a check is about
groups        the files of a check, cut into runs of neighbours that are inferred on their own
outcome       all that the check of a group says, as plain data
plain_data    records as JSON and back
setting       what all groups share: the configuration, the rules, what is known of APIs
session       the check of one group: each file from source to findings
executors     who checks the groups: the interface, and this process
processes     the executor that checks groups in processes of their own
cluster       the executor that a cluster of machines is (needs Dask)
cache         outcomes of earlier checks, kept in a folder
repeats       whole reports, kept for the next check of the same paths
entries       the folder of the cache
code          what code runs, told apart without loading it
answers       whether what a kept outcome rests on is as it was
judgement     how sure a finding is, and whether it is shown
settlement    the outcomes of all groups become the report
shards        a check in parts, each on a machine that knows nothing of the others
open_findings findings that wait until all calls were seen
claims        claims of rules become findings: places, traces, excerpts
bans          the uses of what a knowledge file bans
edits         the fix of a claim as edits of the file
fingerprints  the name that a finding keeps when lines move
resources     a deep stack, and no garbage collection
"""
