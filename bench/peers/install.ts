// Installs the peers, and reports which of them are available.
//   - They are installed from their lock file, into this folder only: the package does not depend on them.
//   - A peer that cannot be installed or loaded is reported with the reason; the others run.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Subject } from "../subject.ts";
import { subjectsOf, type Peer } from "./catalogue.ts";

const FOLDER = import.meta.dirname;
/** Records the installed lock file; it is inside node_modules, so that it is deleted together with the packages. */
const STAMP = join(FOLDER, "node_modules", ".installed");

/** No package needs its install script here, and some scripts send data about the machine. */
const WORDS = ["ci", "--ignore-scripts", "--include=optional", "--no-audit", "--no-fund"];

export interface Prepared {
  /** The subjects that can run. */
  readonly subjects: readonly Subject[];
  /** A sentence for each peer that cannot run. */
  readonly absent: readonly string[];
  /** Of those that can run, by the name of the peer. */
  readonly versions: Readonly<Record<string, string>>;
}

export async function preparePeers(peers: readonly Peer[]): Promise<Prepared> {
  if (peers.length === 0) return { subjects: [], absent: [], versions: {} };
  const trouble = await install();
  const subjects: Subject[] = [];
  const absent: string[] = [];
  const versions: Record<string, string> = {};
  for (const peer of peers) {
    const version = versionOf(peer.package);
    const reason = version === null ? (trouble ?? `${peer.package} is missing`) : lacking(peer);
    if (reason === null && version !== null) {
      subjects.push(...subjectsOf(peer));
      versions[peer.name] = version;
    } else absent.push(`${peer.name}: ${reason ?? ""}`);
    console.log(`${peer.name}: ${peer.package} ${version ?? "not installed"}`);
  }
  return { subjects, absent, versions };
}

/** The error, or null. */
async function install(): Promise<string | null> {
  const lock = readFileSync(join(FOLDER, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return null;
  console.log("installing the peers in bench/peers, which takes minutes …");
  try {
    await promisify(execFile)("npm", WORDS, { cwd: FOLDER });
    writeFileSync(STAMP, wanted);
    return null;
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    const said = stderr.split("\n").find((line) => line.startsWith("npm error"));
    return `npm ci failed: ${said ?? String(error)}`;
  }
}

/** A missing requirement other than packages. */
function lacking({ name, variable, program }: Peer): string | null {
  if (variable !== undefined && (process.env[variable] ?? "") === "") {
    return `${variable} is not set; bench/peers/adapters/${name}.ts says to what`;
  }
  if (program === undefined || isOnPath(program)) return null;
  return `${program} is not on the PATH; install it to run ${name}`;
}

function isOnPath(program: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

function versionOf(name: string): string | null {
  const file = join(FOLDER, "node_modules", name, "package.json");
  if (!existsSync(file)) return null;
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
