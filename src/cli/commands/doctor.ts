// perdure doctor: checks a store, its settings and the work in it.

import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { inspectFile } from "../../sqlite/read/inspection.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { problem, ok, type Finding, type Level } from "../doctor/finding.ts";
import { checkPostgres } from "../doctor/postgres.ts";
import { checkRows } from "../doctor/rows.ts";
import { checkSqlite } from "../doctor/sqlite.ts";
import { checkWork } from "../doctor/work.ts";
import { bold, dim, green, red, yellow, type Styled } from "../text/screen.ts";
import { configOf, Session, sourceOf } from "../store/session.ts";
import {
  assertStoreExists,
  showSource,
  sqliteFile,
  type StoreSource,
} from "../store/store-address.ts";

interface DoctorOptions {
  readonly thorough?: true;
}

export function addDoctor(program: Program): void {
  defineCommand<DoctorOptions>(
    program,
    {
      usage: "doctor [store]",
      summary: "check a store: settings, schema, clock, stuck work, dead runtimes",
      description:
        "Checks a store and the work in it. Exits with 8 if it finds a problem; warnings do not count.",
      examples: [
        ["perdure doctor", "check the config's store"],
        ["perdure doctor sqlite:./orders.db --thorough", "also read every page and every row"],
        ["perdure doctor --json | jq '.findings[] | select(.level!=\"ok\")'", "for a monitor"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const source = sourceOf(call, await configOf(call), args[0]);
      const findings = await examine(call, source);
      const worst = findings.some(({ level }) => level === "problem");
      const store = showSource(source);
      if (options.json === true) cli.out.document({ store, ok: !worst, findings });
      else printFindings(call, store, findings);
      return worst ? 8 : 0;
    },
  ).option(
    "--thorough",
    "read every page of a SQLite file and compare every row with its checksum",
  );
}

async function examine(
  call: Call<DoctorOptions>,
  source: StoreSource,
): Promise<readonly Finding[]> {
  const file = source.kind === "address" ? sqliteFile(source.address) : undefined;
  if (source.kind === "address") assertStoreExists(source.address);
  const findings: Finding[] = [];
  const thorough = call.options.thorough === true;
  try {
    if (file !== undefined) {
      findings.push(...checkSqlite(inspectFile(file, { thorough })));
    }
    await using session = await Session.open(call, {
      given: call.args[0],
      access: "read",
    });
    const { client, provider } = session;
    findings.unshift(ok("store", `${provider.name}, durability ${provider.durability}`));
    findings.push(
      ...(await checkServer(provider, thorough)),
      ...(await checkWork(client, provider)),
    );
    if (thorough) findings.push(...(await checkRows(provider)));
  } catch (error) {
    if (!isPerdureError(error)) throw error;
    findings.unshift(
      problem("store", `the store cannot be opened: ${error.message} (${error.code})`),
    );
  }
  return findings;
}

/** Returns no findings for a store that is not PostgreSQL. Loads the PostgreSQL code only if it is needed. */
async function checkServer(provider: Provider, thorough: boolean): Promise<readonly Finding[]> {
  if (provider.name !== "postgres") return [];
  const { PostgresProvider } = await import("../../postgres/index.ts");
  if (!(provider instanceof PostgresProvider)) return [];
  const runtimes = await provider.listRuntimes();
  return checkPostgres(await provider.inspect({ thorough }), runtimes.length);
}

const SIGNS: Readonly<Record<Level, Styled>> = {
  ok: green("✓"),
  warning: yellow("!"),
  problem: red("✗"),
};

function printFindings(
  { cli: { out } }: Call<DoctorOptions>,
  store: string,
  found: readonly Finding[],
): void {
  out.line(bold(store));
  for (const { check, level, message, hint, details = [] } of found) {
    out.line(SIGNS[level], " ", dim(check.padEnd(15)), message);
    for (const detail of details) out.line(dim("    "), detail);
    if (hint !== undefined) out.line(dim(`    ${hint}`));
  }
}
