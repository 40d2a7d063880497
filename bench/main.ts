// The benchmark command: runs the selected workloads, prints the table, writes the JSON file.
//   - Limit and subject alternate, repetition by repetition, so that both run under the same conditions.
//   - With --into, the file is written after every workload, so that an interrupted run keeps what it has measured.
//   - It fails only if a repetition was wrong, never because of a figure or a peer.

import { mkdirSync } from "node:fs";
import { readArguments, USAGE, type Arguments } from "./arguments.ts";
import { has, type Entry } from "./catalogue.ts";
import { goalOf, isReached } from "./goals.ts";
import { summarize } from "./measure.ts";
import { commandOf, readMeta } from "./meta.ts";
import { peerOf } from "./peers/catalogue.ts";
import { preparePeers } from "./peers/install.ts";
import { openPostgres, type Postgres } from "./postgres.ts";
import { repeat } from "./repetition.ts";
import { merge, readReport, writeReport } from "./report-file.ts";
import type { Order, Reading, Result, Store, Subject } from "./subject.ts";
import { describeMeta, describeResult, HEADER } from "./table.ts";

process.env["NODE_ENV"] ??= "production";
const failures: string[] = [];
/** Peers that could not be installed or run, and why. */
const absences: string[] = [];
const chosen = read();
if (chosen.help) console.log(USAGE);
else await runAll(chosen);
process.exitCode = failures.length === 0 ? 0 : 1;

async function runAll(options: Arguments): Promise<void> {
  const { directory, quick, repetitions } = options;
  const began = performance.now();
  const old = options.into === null ? null : readReport(options.into); // before it costs an hour
  mkdirSync(directory, { recursive: true });
  const server = options.stores.includes("postgres") ? await openPostgres(directory) : null;
  const command = commandOf("bench", process.argv.slice(2));
  const meta = await readMeta({ command, directory, quick, repetitions }, server);
  console.log(describeMeta(meta));
  const { subjects: peers, absent, versions } = await preparePeers(options.peers);
  absences.push(...absent);
  const subjects = [...options.subjects, ...peers];
  const results: Result[] = [];
  const save = (): readonly string[] => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    const fresh = { meta: { ...meta, seconds, peers: versions }, results, failures, absences };
    if (options.json !== null) writeReport(options.json, fresh);
    if (options.into === null) return [];
    const { report, notes } = old === null ? { report: fresh, notes: [] } : merge(old, fresh);
    writeReport(options.into, report);
    return notes;
  };
  for (const store of options.stores) {
    const begun = performance.now();
    for (const entry of options.workloads) {
      if (!entry.stores.includes(store)) continue;
      const found = await runWorkload(entry, store === "sqlite" ? null : server, {
        ...options,
        subjects,
      });
      results.push(...found);
      print(entry, found);
      if (options.into !== null) save();
    }
    if (results.some((result) => result.store === store)) {
      console.log(`\n${store}: ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
    }
  }
  for (const note of save()) console.log(note);
  conclude(results);
}

/** Runs only on SQLite if there is no PostgreSQL server. */
async function runWorkload(
  entry: Entry,
  server: Postgres | null,
  options: Arguments,
): Promise<Result[]> {
  const store: Store = server === null ? "sqlite" : "postgres";
  const subjects = options.subjects.filter((subject) => has(entry, subject, store));
  const readings = new Map<Subject, Reading[][]>(subjects.map((subject) => [subject, []]));
  const orderFor = (subject: Subject): Order => {
    const { directory, quick } = options;
    return { workload: entry.name, subject, setting: { store, database: null, directory, quick } };
  };
  for (let repetition = 0; repetition < options.repetitions; repetition++) {
    for (const subject of subjects) {
      const failedBefore = (readings.get(subject)?.length ?? 0) < repetition;
      if (failedBefore && peerOf(subject) !== undefined) continue;
      try {
        readings.get(subject)?.push([...(await repeat(orderFor(subject), server))]);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const list = peerOf(subject) === undefined ? failures : absences;
        list.push(`${entry.name} ${store} ${subject}: ${message}`);
      }
    }
  }
  // One wrong repetition invalidates the result, even if others are right (subject.1).
  const whole = subjects.filter((one) => readings.get(one)?.length === options.repetitions);
  return whole.flatMap((one) => summarize(orderFor(one), readings.get(one) ?? []));
}

function print(entry: Entry, results: readonly Result[]): void {
  console.log(`\n${entry.name}: ${entry.title}`);
  const shown = results.filter((result) => result.subject !== "limit");
  if (shown.length === 0) return console.log("FAILED");
  console.log(HEADER);
  for (const result of shown) console.log(describeResult(result, results));
}

function conclude(results: readonly Result[]): void {
  const reached = results.flatMap((result) => {
    const goal = result.subject === "perdure" ? goalOf(result) : null;
    const verdict = goal === null ? null : isReached(goal, result, results);
    return verdict === null ? [] : [verdict];
  });
  console.log(`${reached.filter(Boolean).length} of ${reached.length} goals reached`);
  for (const absence of absences) console.error(`NOT RUN ${absence.split("\n", 1)[0]}`);
  for (const failure of failures) console.error(`FAILED ${failure}`);
}

function read(): Arguments {
  try {
    return readArguments(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}
