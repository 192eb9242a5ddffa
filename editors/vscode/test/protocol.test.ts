/** The protocol library of the client against the real server. */

import assert from "node:assert/strict";
import { ChildProcess, spawn } from "node:child_process";
import { test } from "node:test";
import { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from "vscode-languageserver-protocol/node";
import * as lsp from "vscode-languageserver-protocol/node";

import { serverCommand } from "../src/server";
import packageJson from "../package.json";

const URI = "untitled:Untitled-1";
const BUG = `import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + torch.randn(3)
`;

function started(): ChildProcess {
  const given = process.env.DEVLINT_SERVER;
  const { command, args } = serverCommand({
    command: given ? given.split(" ") : [],
    folders: [],
    platform: process.platform,
    exists: () => false,
  });
  return spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
}

/** The settings of the extension, as it has them when nobody sets any. */
function defaults(): Record<string, unknown> {
  const properties: Record<string, { default: unknown }> =
    packageJson.contributes.configuration.properties;
  const entries = Object.entries(properties).map(([name, property]) => [
    name.replace("devlint.", ""),
    property.default,
  ]);
  return Object.fromEntries(entries.filter(([name]) => !(name as string).includes(".")));
}

test("findings, a fix, a hover and a hint come from the server", { timeout: 120_000 }, async () => {
  const process = started();
  const connection = createProtocolConnection(
    new StreamMessageReader(process.stdout!),
    new StreamMessageWriter(process.stdin!),
  );
  const said: string[] = [];
  connection.onNotification(lsp.ShowMessageNotification.type, (message) => said.push(message.message));
  connection.listen();
  const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: null,
    rootUri: null,
    workspaceFolders: null,
    initializationOptions: defaults(),
    capabilities: {
      textDocument: { diagnostic: {} },
      workspace: { workspaceEdit: { documentChanges: true } },
    },
  });
  assert.equal(initialized.serverInfo?.name, "devlint");
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri: URI, languageId: "python", version: 1, text: BUG },
  });

  const textDocument = { uri: URI };
  const report = await connection.sendRequest(lsp.DocumentDiagnosticRequest.type, { textDocument });
  assert.ok(report.kind === "full");
  assert.deepEqual(report.items.map((item) => item.code), ["DEV102"]);

  const range = report.items[0].range;
  const actions = await connection.sendRequest(lsp.CodeActionRequest.type, {
    textDocument,
    range,
    context: { diagnostics: report.items, only: [lsp.CodeActionKind.QuickFix] },
  });
  const fix = actions?.find((action) => lsp.CodeAction.is(action) && action.isPreferred);
  assert.ok(fix && lsp.CodeAction.is(fix));
  const change = fix.edit?.documentChanges?.[0] as lsp.TextDocumentEdit;
  assert.equal((change.edits[0] as lsp.TextEdit).newText, "3, device=x.device");

  const hover = await connection.sendRequest(lsp.HoverRequest.type, {
    textDocument,
    position: { line: 6, character: 15 },
  });
  assert.match((hover?.contents as lsp.MarkupContent).value, /the device of `x`/);
  const hints = await connection.sendRequest(lsp.InlayHintRequest.type, {
    textDocument,
    range: { start: { line: 0, character: 0 }, end: { line: 7, character: 0 } },
  });
  assert.deepEqual(hints, []);
  assert.deepEqual(said, []);

  await connection.sendRequest(lsp.ShutdownRequest.type);
  const ended = new Promise<number | null>((resolve) => process.once("exit", resolve));
  await connection.sendNotification(lsp.ExitNotification.type);
  assert.equal(await ended, 0);
  connection.dispose();
});
