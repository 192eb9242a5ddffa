/** The extension: starts the language server of devlint, and stops it. */

import * as fs from "fs";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions } from "vscode-languageclient/node";

import { advice, Command, serverCommand } from "./server";

const SECTION = "devlint";
const RESTARTING = ["command", "enable"].map((name) => `${SECTION}.${name}`);

let client: LanguageClient | undefined;
let output: vscode.LogOutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  output = vscode.window.createOutputChannel("devlint", { log: true });
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("devlint.restart", restart),
    vscode.commands.registerCommand("devlint.showOutput", () => output.show()),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (RESTARTING.some((setting) => event.affectsConfiguration(setting))) {
        await restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  if (!settings.get<boolean>("enable", true)) {
    return;
  }
  const command = await commandOf(settings);
  output.info(`starts ${[command.command, ...command.args].join(" ")}`);
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
      { language: "python", scheme: "vscode-notebook-cell" },
    ],
    outputChannel: output,
    initializationOptions: settings,
    synchronize: { configurationSection: SECTION },
  };
  client = new LanguageClient(SECTION, "devlint", { ...command, transport: 0 }, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    output.error(String(error));
    void vscode.window.showErrorMessage(advice(command));
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function commandOf(settings: vscode.WorkspaceConfiguration): Promise<Command> {
  const trusted = vscode.workspace.isTrusted;
  return serverCommand({
    command: settings.get<string[]>("command", []),
    interpreter: await interpreter(),
    // The program of a folder that nobody trusts is not started.
    folders: trusted ? (vscode.workspace.workspaceFolders ?? []).map((f) => f.uri.fsPath) : [],
    platform: process.platform,
    exists: fs.existsSync,
  });
}

/** The interpreter that the Python extension has selected, where there is that extension. */
async function interpreter(): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) {
    return undefined;
  }
  const python = vscode.extensions.getExtension("ms-python.python");
  try {
    const api = await python?.activate();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const environment = api?.environments?.getActiveEnvironmentPath(folder);
    const resolved = await api?.environments?.resolveEnvironment(environment);
    return resolved?.executable?.uri?.fsPath;
  } catch (error) {
    output.warn(`the Python extension does not say which interpreter is selected: ${error}`);
    return undefined;
  }
}
