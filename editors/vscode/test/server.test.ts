/** Where the server is looked for. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { advice, serverCommand, Surroundings } from "../src/server";

function surroundings(some: Partial<Surroundings>, ...files: string[]): Surroundings {
  return { command: [], folders: [], platform: "linux", exists: (f) => files.includes(f), ...some };
}

test("the setting comes first", () => {
  const known = surroundings({ command: ["/x/devlint", "server"], interpreter: "/e/bin/python" });
  assert.deepEqual(serverCommand(known), { command: "/x/devlint", args: ["server"] });
});

test("then the selected interpreter's environment, then the folder's, then the PATH", () => {
  const some = { interpreter: "/e/bin/python", folders: ["/p"] };
  const [own, folder] = ["/e/bin/devlint", "/p/.venv/bin/devlint"];
  assert.equal(serverCommand(surroundings(some, own, folder)).command, own);
  assert.equal(serverCommand(surroundings(some, folder)).command, folder);
  assert.equal(serverCommand(surroundings(some)).command, "devlint");
});

test("Windows has its own names", () => {
  const program = "C:\\p\\venv\\Scripts\\devlint.exe";
  const known = surroundings({ folders: ["C:\\p"], platform: "win32" }, program);
  assert.equal(serverCommand(known).command, program);
});

test("what to do is said when it does not start", () => {
  assert.match(advice({ command: "devlint", args: ["server"] }), /`devlint server`.*devlint\[lsp\]/);
});
