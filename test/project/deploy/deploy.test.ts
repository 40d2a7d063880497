// The files in docs/deploy/files: their shape, their times and commands, and the steps of the Dockerfile without Docker.

import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { initFiles } from "../../../src/cli/init-files.ts";
import { Project } from "../../interfaces/cli/support.ts";
import { readYaml, type Yaml } from "./plain-yaml.ts";
import { projectRoot } from "../../support/source-files.ts";

const FOLDER = join(projectRoot, "docs/deploy/files");
const GRACE_S = 20;
/** The supervisor's extra time, and the time to close the store. */
const MARGIN_S = 10;
const PROGRAM = "node_modules/.bin/perdure";

const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

/** The value at a path such as `spec.template.0.name`. */
function at(value: Yaml | undefined, path: string): Yaml | undefined {
  let found: Yaml | undefined = value;
  for (const key of path.split(".")) {
    if (typeof found !== "object") return undefined;
    found = (found as Readonly<Record<string, Yaml>>)[key];
  }
  return found;
}

const seconds = (value: Yaml | undefined): number => Number(String(value).replace(/s$/, ""));

interface Step {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of each stage of the Dockerfile. */
function stages(): readonly (readonly Step[])[] {
  const steps = read("Dockerfile")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): Step => {
      const [, name = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return { name, rest };
    });
  const starts = steps.flatMap(({ name }, index) => (name === "FROM" ? [index] : []));
  return starts.map((start, index) => steps.slice(start, starts[index + 1]));
}

const last = (name: string): string =>
  stages()
    .at(-1)
    ?.findLast((step) => step.name === name)?.rest ?? "";

const commandOfImage = JSON.parse(last("CMD")) as readonly string[];

test("the steps of the Dockerfile make a worker that is healthy and stops on SIGTERM within its grace period", async () => {
  const project = new Project(
    Object.fromEntries(
      initFiles({ store: "sqlite:./orders.db", extension: "ts" }).map(({ path, text }) => [
        path,
        text,
      ]),
    ),
  );
  project.write("package-lock.json", "{}");
  const root = join(project.folder, "root");
  const inRoot = (path: string): string => join(root, path);
  // `npm ci` links the sources instead of installing the package, and the user "node" does not exist here.
  project.write("bin/npm", npmThatLinks(project.folder));
  project.write("bin/chown", `#!/bin/sh\n[ "$1" = node:node ]\n`);
  for (const name of ["npm", "chown"]) chmodSync(join(project.folder, "bin", name), 0o755);
  let environment: Record<string, string> = {};
  for (const [index, steps] of stages().entries()) {
    const image = inRoot(`stage-${index}`);
    environment = {};
    let directory = "/";
    for (const { name, rest } of steps) {
      const place = join(image, directory);
      if (name === "WORKDIR") mkdirSync(join(image, (directory = rest)), { recursive: true });
      if (name === "ENV") environment[rest.split("=")[0] ?? ""] = rest.split("=")[1] ?? "";
      if (name === "COPY")
        copy(rest, { from: project.folder, stage: inRoot("stage-0"), to: place });
      if (name === "RUN") {
        const line = rest.replaceAll("/data", join(image, "data"));
        expect(await shell(line, place, project.folder), line).toBe(0);
      }
    }
  }
  const image = inRoot("stage-1");
  expect(environment).toEqual({ NODE_ENV: "production" });
  expect(existsSync(join(image, "data"))).toBe(true);

  const [program = "", ...args] = commandOfImage;
  const child = spawn(program, args.with(args.indexOf("8080"), "0"), {
    cwd: join(image, "app"),
    env: {
      ...process.env,
      ...environment,
      PERDURE_STORE: `sqlite:${join(image, "data/orders.db")}`,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  let output = "";
  const ready = Promise.withResolvers<void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.includes("worker ready")) ready.resolve();
  });
  await Promise.race([ready.promise, ended]);
  const port = /"port":(\d+)/.exec(output)?.[1] ?? "";
  const [, check = "[]"] = / CMD (\[.*\])$/.exec(last("HEALTHCHECK")) ?? [];
  const [node, ...checkArgs] = JSON.parse(check) as string[];
  expect(node).toBe("node");
  const probe = spawn(
    process.execPath,
    checkArgs.map((arg) => arg.replace("8080", port)),
  );
  expect(await new Promise((resolve) => probe.once("exit", resolve))).toBe(0);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(output).toContain("worker stopped");
});

test("Kubernetes and Compose wait longer for a worker than its grace period, and probe its health port", () => {
  const [statefulSet] = readYaml(read("kubernetes.sqlite.yaml"));
  const [job, deployment, budget] = readYaml(read("kubernetes.postgres.yaml"));
  expect([statefulSet, job, deployment, budget].map((document) => at(document, "kind"))).toEqual([
    "StatefulSet",
    "Job",
    "Deployment",
    "PodDisruptionBudget",
  ]);
  for (const document of [statefulSet, deployment]) {
    const pod = at(document, "spec.template.spec");
    expect(at(document, "spec.template.metadata.labels")).toEqual(
      at(document, "spec.selector.matchLabels"),
    );
    expect(seconds(at(pod, "terminationGracePeriodSeconds"))).toBeGreaterThanOrEqual(
      GRACE_S + MARGIN_S,
    );
    const container = at(pod, "containers.0");
    expect(at(container, "command")).toEqual(commandOfImage);
    expect(at(container, "ports.0")).toEqual({ name: "health", containerPort: "8080" });
    const paths = ["startupProbe", "livenessProbe", "readinessProbe"].map((name) => {
      expect(at(container, `${name}.httpGet.port`)).toBe("health");
      expect(seconds(at(container, `${name}.timeoutSeconds`))).toBeGreaterThan(2); // readyz answers within 2 s
      return at(container, `${name}.httpGet.path`);
    });
    expect(paths).toEqual(["/readyz", "/healthz", "/readyz"]);
  }
  expect(at(budget, "spec.selector")).toEqual(at(deployment, "spec.selector"));
  // A SQLite file: one pod, one volume, and the file is on it.
  expect(at(statefulSet, "spec.replicas")).toBe("1");
  expect(at(statefulSet, "spec.volumeClaimTemplates.0.spec.accessModes")).toEqual([
    "ReadWriteOncePod",
  ]);
  const mount = at(statefulSet, "spec.template.spec.containers.0.volumeMounts.0");
  expect(at(mount, "name")).toBe(at(statefulSet, "spec.volumeClaimTemplates.0.metadata.name"));
  const store = String(at(statefulSet, "spec.template.spec.containers.0.env.0.value"));
  expect(dirname(store.replace("sqlite:", ""))).toBe(at(mount, "mountPath"));

  for (const name of ["compose.sqlite.yaml", "compose.postgres.yaml"]) {
    const [compose] = readYaml(read(name));
    const worker = at(compose, "services.worker");
    expect(seconds(at(worker, "stop_grace_period"))).toBeGreaterThanOrEqual(GRACE_S + MARGIN_S);
    const services = at(compose, "services") as Readonly<Record<string, Yaml>>;
    for (const service of Object.values(services)) {
      for (const needed of Object.keys(at(service, "depends_on") ?? {})) {
        expect(Object.keys(services)).toContain(needed);
      }
      for (const volume of (at(service, "volumes") ?? []) as readonly string[]) {
        expect(at(compose, "volumes")).toHaveProperty(volume.split(":")[0] ?? "");
      }
    }
  }
});

test("the systemd unit and the Procfile stop a worker gently and restart it", () => {
  const unit = new Map(
    read("perdure-worker.service")
      .split("\n")
      .flatMap((line) => {
        const [, name, value = ""] = /^(\w+)=(.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, value] as const];
      }),
  );
  expect(Number(unit.get("TimeoutStopSec"))).toBeGreaterThanOrEqual(GRACE_S + MARGIN_S);
  expect(unit.get("KillSignal")).toBe("SIGTERM");
  expect(unit.get("Restart")).toBe("always");
  expect(unit.get("Environment")).toContain(`/var/lib/${unit.get("StateDirectory")}/`);
  expect(unit.get("ExecStart")).toBe(
    `${unit.get("WorkingDirectory")}/${PROGRAM} worker --grace ${GRACE_S}s --json`,
  );
  expect(read("Procfile")).toMatch(`exec ${PROGRAM} worker --grace ${GRACE_S}s --json`);
});

test("CI checks and migrates before it rolls out, and every command of the files is one of the command line", async () => {
  const [workflow] = readYaml(read("deploy.yaml"));
  const steps = at(workflow, "jobs.deploy.steps") as readonly Yaml[];
  const commands = steps.flatMap((step) => at(step, "run") ?? []);
  expect(commands).toEqual([
    "npm ci",
    "npm test",
    "npx perdure check",
    "npx perdure migrate",
    "./roll-out.sh",
  ]);
  const help = (await new Project().run("--help")).stdout;
  const files = ["compose.sqlite.yaml", "compose.postgres.yaml", "Procfile", "deploy.yaml"];
  const used = files.flatMap((name) =>
    [...read(name).matchAll(/\bperdure(?:", "| |\n +- )(\w+)/g)].map(
      ([, command]) => command ?? "",
    ),
  );
  expect(new Set(used)).toEqual(new Set(["ui", "migrate", "worker", "check"]));
  for (const command of used) expect(help).toMatch(new RegExp(`^ +${command}\\b`, "m"));
});

/** `COPY [--from=stage] source… target` */
function copy(
  rest: string,
  { from, stage, to }: { readonly from: string; readonly stage: string; readonly to: string },
): void {
  const words = rest.split(" ");
  const isFromStage = words[0]?.startsWith("--from=") === true;
  const [target = "", ...sources] = words.slice(isFromStage ? 1 : 0).toReversed();
  for (const source of sources) {
    const path = isFromStage ? join(stage, source) : join(from, source);
    const place = target.endsWith("/") ? join(to, target, source) : join(to, target);
    cpSync(path, place, { recursive: true, verbatimSymlinks: true });
  }
}

/** Runs a line as Docker does, with the programs of the folder `bin` first. */
function shell(line: string, cwd: string, folder: string): Promise<unknown> {
  const env = { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` };
  const child = spawn("sh", ["-c", line], { cwd, env, stdio: "inherit" });
  return new Promise((resolve) => child.once("exit", resolve));
}

function npmThatLinks(folder: string): string {
  const linked = join(folder, "node_modules/perdure");
  return `#!/bin/sh
set -e
[ "$*" = "ci --omit=dev" ] && [ -f package.json ] && [ -f package-lock.json ]
mkdir -p node_modules/.bin
ln -s "${linked}" node_modules/perdure
printf '#!/bin/sh\\nexec "${process.execPath}" "${join(projectRoot, "src/cli/main.ts")}" "$@"\\n' > ${PROGRAM}
chmod +x ${PROGRAM}
`;
}
