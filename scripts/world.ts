// npm run world: what the world does to the product, each programme with its figure and a verdict by stated rules.
// scripts/world/ has one file per programme; its header says what it does, what it measures, and what counts as failure.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { STORE_KINDS } from "../test/faults/kill/stores.ts";
import { hostFacts } from "./host-facts.ts";
import { PROGRAMMES } from "./world/catalogue.ts";
import { describeVerdict, tableOf } from "./world/table.ts";
import { verdictOf, type Verdict } from "./world/verdict.ts";

const USAGE = `npm run world                    all programmes, on each store they are about
  --only NAME,NAME               some of them; their names are below
  --store sqlite|postgres        one store
  --size N                       multiplies the sizes, for example 0.1 or 10 (default 1)
  --json FILE                    also writes figures and rules as JSON

Exit code 1: a rule is broken, or no programme passed.

${PROGRAMMES.map(({ name, what }) => `${name.padEnd(18)} ${what}`).join("\n")}`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    store: { type: "string" },
    size: { type: "string", default: "1" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(USAGE);
else await main();

async function main(): Promise<void> {
  const names = values.only?.split(",") ?? PROGRAMMES.map(({ name }) => name);
  const chosen = names.map(
    (name) =>
      PROGRAMMES.find((each) => each.name === name) ?? fail(`There is no programme "${name}".`),
  );
  const stores = STORE_KINDS.filter((kind) => values.store === undefined || kind === values.store);
  if (stores.length === 0) fail(`--store must be sqlite or postgres; got ${values.store ?? ""}.`);
  const size = Number(values.size);
  if (!(size > 0) || !Number.isFinite(size)) {
    fail(`--size must be a number greater than zero; got ${values.size}.`);
  }
  const host = hostFacts();
  console.log(`${host.commit}, Node ${host.node}, ${host.processors} × ${host.processor}`);
  const verdicts: Verdict[] = [];
  for (const programme of chosen) {
    for (const store of stores.filter((kind) => programme.stores.includes(kind))) {
      console.error(`${programme.name}, ${store} …`);
      const verdict = await verdictOf(programme, { store, size });
      verdicts.push(verdict);
      console.log(describeVerdict(verdict));
    }
  }
  console.log(`\n${tableOf(verdicts)}`);
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ host, size, verdicts }, null, 1)}\n`);
  }
  const count = (verdict: Verdict["verdict"]): number =>
    verdicts.filter((each) => each.verdict === verdict).length;
  console.log(
    `\n${count("passed")} passed, ${count("broken")} broken, ${count("not run")} not run on this machine`,
  );
  if (count("broken") > 0 || count("passed") === 0) process.exitCode = 1;
}

function fail(why: string): never {
  console.error(`${why}\n${USAGE}`);
  return process.exit(2);
}
