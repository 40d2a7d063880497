// The chaos command: real processes on real stores, killed at random moments, and an audit of the results.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bankEmptiness, describeBank, runBank } from "../test/faults/kill/bank/bank-run.ts";
import { describeKills, emptiness } from "../test/faults/kill/audit/kill-report.ts";
import { runKills } from "../test/faults/kill/kill-run.ts";
import { STORE_KINDS, type StoreKind } from "../test/faults/kill/stores.ts";
import { describeForgets, forgetEmptiness } from "../test/stores/postgres/forgets/report.ts";
import { runForgets } from "../test/stores/postgres/forgets/run.ts";
import { describeOutages, outageEmptiness } from "../test/stores/postgres/outages/report.ts";
import { runOutages } from "../test/stores/postgres/outages/run.ts";
import { hostFacts } from "./host-facts.ts";

const USAGE = `npm run chaos -- --kills N --store sqlite|postgres   kills of worker processes (default 1,000, on both)
npm run chaos -- --bank N --store sqlite|postgres    N transfers of a bank under kills;
                                                     --life N: a process begins at most N activities (default 60)
npm run chaos -- --outages N --cuts M                 outages of PostgreSQL, and connections cut at a COMMIT
npm run chaos -- --forgets N                           failovers of PostgreSQL that lose the last commits
--seed N      repeats the choices of an earlier run, but not its timing
--workers N   processes at a time (default 4)
--json FILE   the report, as JSON`;

const { values } = parseArgs({
  options: {
    kills: { type: "string" },
    bank: { type: "string" },
    life: { type: "string", default: "60" },
    outages: { type: "string" },
    cuts: { type: "string" },
    forgets: { type: "string" },
    store: { type: "string" },
    seed: { type: "string" },
    workers: { type: "string", default: "4" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

/** One kind of run on one store. */
interface Part {
  readonly report: object;
  readonly text: string;
  readonly trials: number;
  readonly faults: number;
  readonly emptiness: readonly string[];
}

if (values.help) console.log(USAGE);
else await main();

async function main(): Promise<void> {
  const stores = chosenStores(values.store);
  const seed = values.seed === undefined ? newSeed() : whole(values.seed, "seed");
  const workers = whole(values.workers, "workers");
  const { kills, bank } = values;
  const outages = whole(values.outages ?? "0", "outages");
  const cuts = whole(values.cuts ?? "0", "cuts");
  const forgets = whole(values.forgets ?? "0", "forgets");
  const isByDefault = kills === undefined && bank === undefined && outages + cuts + forgets === 0;
  const killed = isByDefault ? 1_000 : whole(kills ?? "0", "kills");
  const host = hostFacts();
  console.log(`${host.commit}, Node ${host.node}, ${host.processors} × ${host.processor}`);
  const parts: Part[] = [];
  for (const store of stores) {
    if (killed > 0) parts.push(await kill(store, { kills: killed, seed, workers }));
    if (bank !== undefined) {
      const lifeMax = whole(values.life, "life");
      parts.push(await transfer(store, { transfers: whole(bank, "bank"), seed, workers, lifeMax }));
    }
  }
  if (outages + cuts > 0) parts.push(await disturb({ outages, cuts, seed, workers }));
  if (forgets > 0) parts.push(await failOver({ forgets, seed, workers }));
  if (values.json !== undefined) {
    const document = {
      host,
      seed,
      parts: parts.map(({ report, emptiness: why }) => ({ ...report, doesNotCount: why })),
    };
    writeFileSync(values.json, `${JSON.stringify(document, null, 1)}\n`);
  }
  if (parts.some((part) => part.faults + part.emptiness.length > 0)) process.exitCode = 1;
}

async function kill(
  store: StoreKind,
  options: { readonly kills: number; readonly seed: number; readonly workers: number },
): Promise<Part> {
  const report = await runKills({
    store,
    ...options,
    onKill: (done) => {
      if (done % 100 === 0) console.error(`${store}: ${done} kills`);
    },
  });
  return printed({
    report: { programme: "kills", ...report },
    text: describeKills(report),
    trials: report.kills,
    faults: report.faults.length,
    emptiness: emptiness(report, options.kills),
  });
}

async function transfer(
  store: StoreKind,
  options: Omit<Parameters<typeof runBank>[0], "store">,
): Promise<Part> {
  const report = await runBank({ store, ...options });
  return printed({
    report: { programme: "bank", ...report },
    text: describeBank(report),
    trials: report.transfers,
    faults: report.faults.length,
    emptiness: bankEmptiness(report),
  });
}

async function disturb(options: Parameters<typeof runOutages>[0]): Promise<Part> {
  const report = await runOutages({
    ...options,
    onOutage: (_, done) => {
      if (done % 100 === 0) console.error(`postgres: ${done} outages`);
    },
  });
  return printed({
    report: { programme: "outages", ...report },
    text: describeOutages(report),
    trials: report.outages.length + report.cuts.before + report.cuts.after,
    faults: report.faults.length,
    emptiness: outageEmptiness(report, options),
  });
}

async function failOver(options: Parameters<typeof runForgets>[0]): Promise<Part> {
  const report = await runForgets({
    ...options,
    onForget: (_, done) => console.error(`postgres: ${done} failovers`),
  });
  return printed({
    report: { programme: "forgets", ...report },
    text: describeForgets(report),
    trials: report.forgets.length,
    faults: report.faults.length,
    emptiness: forgetEmptiness(report, options.forgets),
  });
}

function printed(part: Part): Part {
  console.log(part.text);
  for (const why of part.emptiness) console.log(`  The run does not count: ${why}.`);
  if (part.faults === 0 && part.emptiness.length === 0) {
    const percent = (300 / part.trials).toPrecision(2);
    console.log(
      `  No fault in ${part.trials}: by the rule of three at most ${percent} % of them would show one (95 %).`,
    );
  }
  return part;
}

function chosenStores(text: string | undefined): readonly StoreKind[] {
  if (text === undefined) return STORE_KINDS;
  const found = STORE_KINDS.find((kind) => kind === text);
  return found === undefined ? fail(`--store must be sqlite or postgres; got ${text}.`) : [found];
}

function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

function whole(text: string, what: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  return fail(`--${what} must be a whole number; got ${text}.`);
}

function fail(why: string): never {
  console.error(`${why}\n${USAGE}`);
  return process.exit(2);
}
