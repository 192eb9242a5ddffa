/** The command that starts the server: which of several places has one. */

import * as path from "path";

/** What is known of the place where the server is looked for. */
export interface Surroundings {
  /** `devlint.command`. */
  command: readonly string[];
  /** The Python interpreter that is selected, if an extension says so. */
  interpreter?: string;
  /** The folders that are open; none if they are not trusted. */
  folders: readonly string[];
  platform: NodeJS.Platform;
  exists: (file: string) => boolean;
}

export interface Command {
  command: string;
  args: string[];
}

/** The server of the setting, of the selected interpreter, of a folder's environment, or any. */
export function serverCommand(known: Surroundings): Command {
  const [program, ...args] = known.command;
  if (program !== undefined) {
    return { command: program, args };
  }
  for (const candidate of candidates(known)) {
    if (known.exists(candidate)) {
      return { command: candidate, args: ["server"] };
    }
  }
  return { command: "devlint", args: ["server"] };
}

function* candidates(known: Surroundings): Generator<string> {
  const windows = known.platform === "win32";
  const name = windows ? "devlint.exe" : "devlint";
  const join = windows ? path.win32.join : path.posix.join;
  if (known.interpreter) {
    const folder = (windows ? path.win32 : path.posix).dirname(known.interpreter);
    yield join(folder, name);
    if (windows) {
      yield join(folder, "Scripts", name);
    }
  }
  for (const folder of known.folders) {
    for (const environment of [".venv", "venv"]) {
      yield join(folder, environment, windows ? "Scripts" : "bin", name);
    }
  }
}

/** What to say when no server starts. */
export function advice(command: Command): string {
  return (
    `devlint: \`${[command.command, ...command.args].join(" ")}\` does not start. ` +
    'Install it with: pip install "devlint[lsp]", or name it in the setting devlint.command.'
  );
}
