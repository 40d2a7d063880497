// What a user does next with the package that the ESM project has installed: every entry point, a crash, threads, the
// command line with workers in separate processes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { entryPoints } from "../api/entry-points.ts";
import { otherNode } from "./other-node.ts";
import { run } from "./run.ts";

/** Optional peer dependencies that an entry point needs, linked from the project. */
const PEERS = ["@opentelemetry/api", "pg", "vitest"];
/** Those that only `npm run test:frameworks` installs, in the versions of its package.json. */
const FRAMEWORKS = ["@nestjs/common", "@nestjs/core", "reflect-metadata", "rxjs"];
/** The folders of dist/ that `import "perdure"` may load; the others are loaded on first use. */
const CORE = /\/perdure\/dist\/(?:(?:core|runtime|client|flow|move)\/)?[\w-]+\.js$/;

const CRASH = `
import { existsSync, writeFileSync } from "node:fs";
import { activity, orchestration, threads } from "perdure";
export const double = activity("double", (value) => value * 2, {
  executor: threads({ module: import.meta.url, size: 1 }),
});
export const twice = orchestration("twice", async (ctx, value) => {
  const once = await ctx.run(double, value);
  await ctx.step("die the first time", () => {
    if (existsSync("died")) return;
    writeFileSync("died", "");
    process.kill(process.pid, "SIGKILL");
  });
  return ctx.run(double, once);
});
`;
const CRASH_MAIN = `
import { Perdure } from "perdure";
import { double, twice } from "./crash.js";
const perdure = await Perdure.open("sqlite:./crash.db", { register: [twice, double] });
const handle = await perdure.client.start(twice, 21, { id: "twice-1", onConflict: "useExisting" });
console.log(await handle.result());
await perdure.close();
`;

/** Returns the errors in the project in `place`; programs run on the Node at `node`. */
export async function useProblems(root: string, place: string, node: string): Promise<string[]> {
  const problems: string[] = [];
  const attempt = async (what: string, use: () => Promise<string | undefined>): Promise<void> => {
    const problem = await use().catch((error: unknown) => (error as Error).message);
    if (problem !== undefined) problems.push(`${what}: ${problem}`);
  };
  await installFrameworks(root, place);
  for (const peer of PEERS) {
    const link = join(place, "node_modules", peer);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, "node_modules", peer), link);
  }
  await attempt("entry points", () => names(root, place, node));
  await attempt('import "perdure"', () => loaded(place, node));
  await attempt("a crash", () => crash(place, node));
  await attempt("the command line", () => commands(place, node));
  return problems;
}

async function installFrameworks(root: string, place: string): Promise<void> {
  const manifest = readFileSync(join(root, "test/frameworks/package.json"), "utf8");
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  const wanted = FRAMEWORKS.map((name) => `${name}@${dependencies[name] ?? "latest"}`);
  await run(place, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", ...wanted);
}

/** Each entry point exports exactly what its source does. */
async function names(root: string, place: string, node: string): Promise<string | undefined> {
  const wrong: string[] = [];
  // The sources find the frameworks where they are installed.
  const parentURL = pathToFileURL(join(place, "package.json")).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, FRAMEWORKS.includes(specifier) ? { ...context, parentURL } : context),
  });
  for (const { name, source } of entryPoints()) {
    const code = `console.log(Object.keys(await import("${name}")).join())`;
    const offered = await run(place, node, "--input-type=module", "-e", code);
    const own: object = await import(pathToFileURL(join(root, source)).href);
    if (offered.trim() !== Object.keys(own).join()) wrong.push(`${name} offers ${offered.trim()}`);
  }
  return wrong.length === 0 ? undefined : wrong.join("\n");
}

/** Unsupported versions of Node; each must print the required version. */
const OLD_NODES = ["18", "20", "22"];

/** Tests every entry point on every old Node, in the project in `place`. */
export async function oldNodeProblems(folder: string, place: string): Promise<string[]> {
  const problems: string[] = [];
  const linted = "perdure/eslint-plugin"; // runs inside ESLint, on a Node that ESLint supports
  for (const version of OLD_NODES) {
    const node = await otherNode(folder, version);
    const main = join(place, "node_modules/perdure/dist/cli/main.js");
    const entries = entryPoints().filter(({ name }) => name !== linted);
    const calls = [
      [main, "--version"],
      ...entries.map(({ name }) => ["--input-type=module", "-e", `await import("${name}")`]),
    ];
    for (const call of calls) {
      const said = await run(place, node, ...call).then(
        () => "nothing",
        (error: unknown) => (error as Error).message,
      );
      if (said.includes("Perdure needs Node 24 or later; this is Node ")) continue;
      problems.push(`Node ${version}, ${call.at(-1)}: printed ${said}`);
    }
  }
  return problems;
}

async function loaded(place: string, node: string): Promise<string | undefined> {
  const code = `
    import { registerHooks } from "node:module";
    const files = [];
    registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
    await import("perdure");
    console.log(JSON.stringify(files.filter((url) => url.startsWith("file:"))));
  `;
  const printed = await run(place, node, "--input-type=module", "-e", code);
  const excess = (JSON.parse(printed) as string[]).filter((url) => !CORE.test(url));
  return excess.length === 0 ? undefined : `loads ${excess.join(", ")}`;
}

async function crash(place: string, node: string): Promise<string | undefined> {
  writeFileSync(join(place, "crash.js"), CRASH);
  writeFileSync(join(place, "crash-main.js"), CRASH_MAIN);
  const [, signal] = (await once(
    spawn(node, ["crash-main.js"], { cwd: place, stdio: "ignore" }),
    "exit",
  )) as [number | null, string | null];
  if (signal !== "SIGKILL") return `ended by ${signal}, not by SIGKILL`;
  const printed = await run(place, node, "crash-main.js");
  return printed.trim() === "84" ? undefined : `printed ${printed}`;
}

/** A project created by `perdure init`, with workers in separate processes. */
async function commands(place: string, node: string): Promise<string | undefined> {
  const main = join(place, "node_modules/perdure/dist/cli/main.js");
  const perdure = (...args: string[]): Promise<string> => run(place, node, main, ...args);
  await perdure("init", "--js");
  await perdure("migrate");
  const workers = spawn(node, [main, "worker", "--processes", "2"], {
    cwd: place,
    stdio: "ignore",
  });
  const left = once(workers, "exit") as Promise<[number | null, string | null]>;
  try {
    const start = ["start", "hello", "--input", '"Ada"', "--event", 'answer="hi"', "--wait"];
    const result = await perdure(...start, "--timeout", "60s", "--json");
    if (!result.includes("Hello, Ada!")) return `start printed ${result}`;
  } finally {
    workers.kill("SIGTERM");
  }
  const [code] = await left;
  if (code !== 0) return `the workers exited with ${code}`;
  const listed = await perdure("list", "--json");
  return listed.includes('"hello"') ? undefined : `list printed ${listed}`;
}
