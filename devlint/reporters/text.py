from devlint.engine import Report


def render(report: Report) -> str:
    lines = [
        f"{f.location.path}:{f.location.line}:{f.location.column}: {f.rule} {f.message}"
        for f in report.findings
    ]
    lines += [f"{e.path}:{e.line}:{e.column}: {e.message}" for e in report.errors]
    return "".join(line + "\n" for line in lines)
