// Blocked and failed instances, grouped by name, version and cause. One bug is one group, for any number of
// instances.
//   - It groups the newest LOOKED_AT_MAX instances of each kind; `looked` is their number.
//   - trouble-groups.1: Two causes are the same if their texts differ only in numbers, ids and quoted
//        values.
//   - The groups are cached for REST_MS, or for longer if needed to spend at most 1/50 of the time on
//        grouping.

import type * as v from "valibot";
import type { Client } from "../../client/client.ts";
import type { InstanceSummary } from "../../client/inspect/instance-info.ts";
import type { ListFilter } from "../../client/list-filter.ts";
import { defined } from "../../core/values/defined.ts";
import type { troubles } from "../schemas/store.ts";

export type Troubles = v.InferInput<typeof troubles>;
type Group = Troubles["groups"][number];

const LOOKED_AT_MAX = 1_000;
const PAGE = 100;
const GROUPS_MAX = 50;
const MESSAGE_CHARS_MAX = 500;
const REST_MS = 2_000;
const SHARE = 50;

export class TroubleGroups {
  readonly #client: Client;
  #known: { readonly until: number; readonly troubles: Promise<Troubles> } | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  read(): Promise<Troubles> {
    const began = performance.now();
    if (this.#known !== null && began < this.#known.until) return this.#known.troubles;
    const troubles = this.#look();
    this.#known = { until: Infinity, troubles };
    troubles.then(
      () => {
        const rest = Math.max(REST_MS, SHARE * (performance.now() - began));
        this.#known = { until: performance.now() + rest, troubles };
      },
      () => (this.#known = null),
    );
    return troubles;
  }

  async #look(): Promise<Troubles> {
    const blocked = await this.#newest({ blocked: true });
    const failed = await this.#newest({ status: "failed" });
    return {
      groups: groupsOf([...blocked, ...failed]),
      looked: { blocked: blocked.length, failed: failed.length },
    };
  }

  /** Reads in pages and yields to the event loop in between, because SQLite queries block this thread. */
  async #newest(filter: ListFilter): Promise<readonly InstanceSummary[]> {
    const found: InstanceSummary[] = [];
    let cursor: string | undefined;
    do {
      const from = defined({ cursor });
      const page = await this.#client.list(filter, { limit: PAGE, ...from });
      found.push(...page.items);
      cursor = page.cursor;
      if (cursor !== undefined) await new Promise((resolve) => setImmediate(resolve));
    } while (cursor !== undefined && found.length < LOOKED_AT_MAX);
    return found;
  }
}

/** Sorted: blocked before failed, then by size. */
export function groupsOf(instances: readonly InstanceSummary[]): Group[] {
  const groups = new Map<string, Group>();
  for (const instance of instances) {
    const trouble = troubleOf(instance);
    if (trouble === null) continue;
    const { kind, cause, message, at, sameAs } = trouble;
    const { id, name, version } = instance;
    const key = JSON.stringify([kind, name, version, cause, sameAs]);
    const known = groups.get(key);
    const isNewer = known === undefined || known.newestAt < at;
    groups.set(key, {
      kind,
      name,
      ...defined({ version }),
      cause,
      message: isNewer ? message.slice(0, MESSAGE_CHARS_MAX) : known.message,
      count: (known?.count ?? 0) + 1,
      newestId: isNewer ? id : known.newestId,
      newestAt: isNewer ? at : known.newestAt,
    });
  }
  const rank = ({ kind }: Group): number => (kind === "blocked" ? 0 : 1);
  return [...groups.values()]
    .toSorted(
      (a, b) => rank(a) - rank(b) || b.count - a.count || (a.newestAt < b.newestAt ? 1 : -1),
    )
    .slice(0, GROUPS_MAX);
}

interface Trouble extends Pick<Group, "kind" | "cause" | "message"> {
  readonly at: string;
  /** Equal for instances with the same cause. */
  readonly sameAs: string;
}

function troubleOf({
  blocked,
  error,
  status,
  completedAt,
  updatedAt,
}: InstanceSummary): Trouble | null {
  if (blocked !== undefined) {
    const { code, message, recorded, requested, source } = blocked;
    const commands = [recorded, requested].map((side) => [side?.kind, side?.name]);
    const sameAs =
      recorded === undefined ? alike(message) : JSON.stringify([...commands, source ?? ""]);
    return { kind: "blocked", cause: code, message, at: blocked.since.toISOString(), sameAs };
  }
  if (status !== "failed") return null;
  const { name = "Error", message = "The error cannot be read." } = error?.failure ?? {};
  const at = (completedAt ?? updatedAt).toISOString();
  return { kind: "failed", cause: name, message, at, sameAs: alike(message) };
}

/** The message without numbers, ids and quoted values (trouble-groups.1). */
function alike(message: string): string {
  return message
    .slice(0, MESSAGE_CHARS_MAX)
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, "…")
    .replace(/[\w-]*\d[\w-]*/g, "…");
}
