"""Several results of `devlint check` become one report.

from_json   findings and errors as a JSON result has them
from_sarif  findings and errors as a SARIF result has them
results     a file with a result, of either format, read
union       shards are settled as the whole check would be; other results are put side by side
"""
