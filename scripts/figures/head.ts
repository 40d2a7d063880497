// What stands above a table: which commands its figures come from, when, on which code and machine.

import type { Meta } from "../../bench/meta.ts";
import type { Row } from "../../bench/report-file.ts";
import type { Published } from "./published.ts";

const STORE_NAMES = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;
export const nameOf = (store: keyof typeof STORE_NAMES): string => STORE_NAMES[store];

/** The runs of these rows, one item each, and then the machine, once if it was the same. */
export function headOf(published: Published, rows: readonly Row[]): string {
  const runs = new Map<string, { meta: Meta; rows: Row[] }>();
  for (const row of rows) {
    const meta = published.metaOf(row);
    const run = runs.get(meta.startedAt);
    if (run === undefined) runs.set(meta.startedAt, { meta, rows: [row] });
    else run.rows.push(row);
  }
  const all = [...runs.values()];
  const shared = sharedMachine(all.map(({ meta }) => meta));
  const items = all.map((run) => {
    const what = all.length === 1 ? "" : `${pairsOf(run.rows)}: `;
    const machine = shared === null ? ` ${machineOf(run.meta)}` : "";
    return `${what}${runOf(run.meta)}${machine}`;
  });
  const text = items.length === 1 ? items.join("") : items.map((item) => `- ${item}`).join("\n");
  if (shared === null) return text;
  return [text, shared].join(items.length === 1 ? " " : "\n\n");
}

/** Null if the runs had different machines or servers. A run on SQLite only fits any server. */
function sharedMachine(metas: readonly Meta[]): string | null {
  const withServer = metas.find(({ postgres }) => postgres !== null) ?? metas[0];
  if (withServer === undefined) return null;
  const isSame = metas.every((meta) => {
    const { postgres, postgresSettings, durability } = withServer;
    const server = meta.postgres === null ? { postgres, postgresSettings, durability } : {};
    return machineOf({ ...meta, ...server }) === machineOf(withServer);
  });
  return isSame ? machineOf(withServer) : null;
}

/** "W1, W2 (SQLite, PostgreSQL)": workloads with the same stores together. */
function pairsOf(rows: readonly Row[]): string {
  const stores = new Map<string, Set<string>>();
  for (const { workload, store } of rows) {
    const names = stores.get(workload) ?? new Set();
    if (store !== null) names.add(nameOf(store));
    stores.set(workload, names);
  }
  const groups = Map.groupBy(stores, ([, names]) => [...names].toSorted().toReversed().join(", "));
  return [...groups]
    .map(([names, group]) => {
      const workloads = group.map(([workload]) => workload).join(", ");
      return names === "" ? workloads : `${workloads} on ${names.replace(", ", " and ")}`;
    })
    .join("; ");
}

function runOf(meta: Meta): string {
  const { command, startedAt, commit, repetitions, fdatasyncMs, load, cores } = meta;
  const date = new Date(startedAt).toLocaleDateString("en-GB", {
    ...{ day: "numeric", month: "long", year: "numeric", timeZone: "UTC" },
  });
  const times = repetitions === 1 ? "one repetition" : `${repetitions} repetitions`;
  const isBusy = load > cores / 4;
  const busy = isBusy
    ? " **The load was high, which makes every figure worse if it was not that of the run before.**"
    : "";
  return (
    `\`${command}\` on ${date}, commit ${commit}, ${times}; \`fdatasync\` ${fdatasyncMs} ms, ` +
    `load ${load.toFixed(1)} at the start.${busy}`
  );
}

function machineOf(meta: Meta): string {
  const { cores, cpu, memoryGb, node, sqlite, durability, postgres, postgresSettings } = meta;
  const settings = Object.entries(postgresSettings ?? {}).map(
    ([name, value]) => `${name}=${value}`,
  );
  const server = postgres === null ? "" : `, PostgreSQL ${postgres.replace(/, (.*)$/, " ($1)")}`;
  return [
    `${cores} cores (${cpu}), ${memoryGb} GB, Node ${node.slice(1)}, SQLite ${sqlite}${server}.`,
    `Durability: ${durability}.`,
    ...(settings.length === 0 ? [] : [`PostgreSQL settings: \`${settings.join(" ")}\`.`]),
  ].join(" ");
}
