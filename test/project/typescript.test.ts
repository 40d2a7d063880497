// The set-ups of docs/typescript.md: each is a folder of files that compile under their tsconfig.json and run with the
// tool that the page names. The page shows these files. `npm run test:runtimes` runs the one for tsx.

import { spawn } from "node:child_process";
import { globSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { Project } from "../interfaces/cli/support.ts";
import { compileProject, linkNodeTypes } from "../interfaces/cli/compile-project.ts";
import { projectRoot } from "../support/source-files.ts";

const FOLDER = join(projectRoot, "docs/typescript");
const CHARGED = "charged 1200 for order-1";

test.each([
  { name: "node", program: "main.ts", prints: CHARGED },
  { name: "tsc", program: "dist/main.js", prints: CHARGED },
  { name: "commonjs", program: "dist/main.js", prints: CHARGED },
  { name: "commonjs", program: "plain.cjs", prints: "Hello, Ada" },
])("the set-up $name compiles, and Node runs its $program", async ({ name, program, prints }) => {
  const project = projectOf(name);
  if (program !== "plain.cjs") expect(compileProject(project.folder)).toEqual({});
  expect(await run(project.folder, program)).toBe(prints);
});

test("the set-up tsx compiles", () => {
  expect(compileProject(projectOf("tsx").folder)).toEqual({});
});

test("the set-up bundler compiles, and Node runs the bundle, which imports Perdure", async () => {
  const { folder } = projectOf("bundler");
  expect(compileProject(folder)).toEqual({});
  const path = join(folder, "rolldown.config.js");
  const { default: config } = (await import(/* @vite-ignore */ path)) as {
    default: { input: string; platform: "node"; external: RegExp[]; output: { file: string } };
  };
  const { output, ...input } = config;
  await using bundle = await rolldown({ ...input, cwd: folder });
  await bundle.write(output);
  expect(readFileSync(join(folder, output.file), "utf8")).toContain(`from "perdure"`);
  expect(await run(folder, output.file)).toBe(CHARGED);
});

test("the set-up monorepo compiles, and an instance that the web process starts runs in the worker process", async () => {
  const { folder, file } = projectOf("monorepo");
  // As `npm install` links workspaces.
  mkdirSync(join(folder, "node_modules/@shop"));
  for (const name of ["definitions", "web", "worker"]) {
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules/@shop", name));
    expect(compileProject(join(folder, "packages", name)), name).toEqual({});
  }
  const env = { ...process.env, PERDURE_STORE: `sqlite:${file}` };
  const worker = spawn(process.execPath, ["packages/worker/main.ts"], { cwd: folder, env });
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  onTestFinished(() => void worker.kill("SIGKILL"));
  expect(await run(folder, "packages/web/main.ts", env)).toBe(CHARGED);
  process.kill(worker.pid ?? 0, "SIGTERM"); // its own `kill` hides the exit code on Deno
  expect(await ended).toBe(0);
});

test("the page shows every file of the set-ups, as it is", () => {
  const page = readFileSync(join(projectRoot, "docs/typescript.md"), "utf8");
  const block = /<!-- file: (\S+) -->\n(?:\n<!-- ignore: .* -->\n)?\n```\w+.*\n([^]*?)```/g;
  const shown = [...page.matchAll(block)].map(([, path = "", text = ""]) => [path, text] as const);
  for (const [path, text] of shown) {
    expect(plain(path, text), path).toBe(plain(path, readFileSync(join(FOLDER, path), "utf8")));
  }
  // The page shows a file once if several set-ups have the same one.
  const texts = new Set(shown.map(([path, text]) => plain(path, text)));
  const hidden = filesOf(".").filter(([path, text]) => !texts.has(plain(path, text)));
  expect(hidden.map(([path]) => path)).toEqual([]);
});

/** The text of a file, without the layout of JSON, which Prettier chooses differently in a page. */
function plain(path: string, text: string): string {
  return path.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text;
}

/** The files of a set-up, with their texts. */
function filesOf(name: string): [path: string, text: string][] {
  const cwd = join(FOLDER, name);
  return globSync("**/*.{ts,js,cjs,json}", { cwd }).map((path) => [
    path,
    readFileSync(join(cwd, path), "utf8"),
  ]);
}

function projectOf(name: string): Project {
  const project = new Project(Object.fromEntries(filesOf(name)));
  linkNodeTypes(project.folder);
  return project;
}

/** What the program prints. */
async function run(folder: string, program: string, env = process.env): Promise<string> {
  const child = spawn(process.execPath, [program], { cwd: folder, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect(code, stderr).toBe(0);
  return stdout.trim();
}
