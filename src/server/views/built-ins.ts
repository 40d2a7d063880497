// Schedules, limiters and entities, read from the registrations of runtimes and from their instances.
//   - built-ins.1: A registration names the role of each orchestration. Without a registration the store does not know
//        which instances are schedules, limiters or entities.
//   - built-ins.2: Counting the callers that wait reads the history of the limiter. So only limiters without a free slot are
//        counted, and at most COUNTED_MAX of one name.
//   - Statuses and rules are parsed, because any code can have written an instance with that name. A part that does not
//        have the expected form is left out.

import * as v from "valibot";
import type { Client } from "../../client/client.ts";
import type { InstanceSummary } from "../../client/inspect/instance-info.ts";
import type { OrchestrationRole } from "../../core/define/definitions.ts";
import { PUBLISHED_KEY } from "../../core/replay/requests/published-state.ts";
import { defined } from "../../core/values/defined.ts";
import type {
  entityName,
  entityPage,
  limiter,
  limiterKey,
  schedule,
} from "../schemas/built-ins.ts";
import type { Services } from "../services.ts";
import { member, summaryToHttp } from "../wire/instance.ts";
import { payloadToHttp } from "./values.ts";

type ScheduleShape = v.InferInput<typeof schedule>;
type LimiterShape = v.InferInput<typeof limiter>;
type LimiterKeyShape = v.InferInput<typeof limiterKey>;

const LIVE = ["pending", "running", "paused"] as const;
const KEYS_SHOWN_MAX = 100;
const COUNTED_MAX = 20;
const WAITING_MAX = 1_000;
const STATE_CHARS_MAX = 4_096;

/** The key of the key-value that holds the rule of a schedule. */
const RULE = "rule";
const maybeText = v.nullable(v.string());
const maybeNumber = v.nullable(v.number());
const maybeDate = v.nullable(v.date());
const storedRule = v.object({
  cron: maybeText,
  timezone: v.string(),
  everyMs: maybeNumber,
  from: maybeDate,
  until: maybeDate,
  overlap: v.string(),
  missed: v.string(),
  maxLatenessMs: maybeNumber,
  jitterMs: v.number(),
});
const scheduleStatus = v.object({
  next: maybeDate,
  last: v.nullable(
    v.object({
      time: v.date(),
      outcome: v.string(),
      id: v.exactOptional(v.string()),
      error: v.exactOptional(v.string()),
    }),
  ),
  problem: v.exactOptional(v.string()),
});
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const limiterStatus = v.object({
  concurrency: v.nullable(count),
  rate: v.nullable(v.object({ count, perMs: v.number() })),
  inUse: count,
  holders: v.array(v.string()),
  nextAt: maybeDate,
});

/** The names that runtimes register with this role, in order (built-ins.1). */
export async function namesWithRole(
  client: Client,
  role: OrchestrationRole,
): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const { registered } of await client.runtimes()) {
    for (const [name, each] of Object.entries(registered?.roles ?? {})) {
      if (each === role) names.add(name);
    }
  }
  return [...names].toSorted();
}

export async function schedulesOf({ client }: Services): Promise<readonly ScheduleShape[]> {
  const names = await namesWithRole(client, "schedule");
  return Promise.all(names.map((name) => scheduleOf(client, name)));
}

export async function scheduleOf(client: Client, name: string): Promise<ScheduleShape> {
  const found = await client.list({ ids: [name], name }, { limit: 1 });
  const [instance] = found.items;
  if (instance === undefined) return { name };
  const rule = v.safeParse(storedRule, await client.get(name).kv.get(RULE));
  const status = v.safeParse(scheduleStatus, instance.customStatus);
  return {
    name,
    instance: summaryToHttp(instance),
    ...(rule.success ? { rule: ruleToHttp(rule.output) } : {}),
    ...(status.success ? statusToHttp(status.output) : {}),
  };
}

function ruleToHttp(rule: v.InferOutput<typeof storedRule>): NonNullable<ScheduleShape["rule"]> {
  const { cron, timezone, everyMs, from, until, overlap, missed, maxLatenessMs, jitterMs } = rule;
  return {
    ...given({ cron, everyMs, maxLatenessMs, from: iso(from), until: iso(until) }),
    timezone,
    overlap,
    missed,
    jitterMs,
  };
}

function statusToHttp({
  next,
  last,
  problem,
}: v.InferOutput<typeof scheduleStatus>): Pick<ScheduleShape, "next" | "last" | "problem"> {
  return {
    ...given({ next: iso(next) }),
    ...(last === null ? {} : { last: { ...last, time: last.time.toISOString() } }),
    ...defined({ problem }),
  };
}

export async function limitersOf({ client }: Services): Promise<readonly LimiterShape[]> {
  const names = await namesWithRole(client, "limiter");
  return Promise.all(
    names.map(async (name) => {
      const filter = { name, status: LIVE };
      const { items } = await client.list(filter, { limit: KEYS_SHOWN_MAX });
      const keyCount = items.length < KEYS_SHOWN_MAX ? items.length : await client.count(filter);
      const keys = items.map(limiterKeyOf);
      await countWaiting(client, keys);
      return { name, keys, keyCount };
    }),
  );
}

function limiterKeyOf(instance: InstanceSummary): LimiterKeyShape {
  const { id, name } = instance;
  const status = v.safeParse(limiterStatus, instance.customStatus);
  const { concurrency, rate, inUse, holders, nextAt } = status.success
    ? status.output
    : { concurrency: null, rate: null, inUse: 0, holders: [], nextAt: null };
  return {
    ...(id === name ? {} : { key: id.slice(name.length + 1) }),
    instance: summaryToHttp(instance),
    ...given({ concurrency, rate, nextAt: iso(nextAt) }),
    inUse,
    holders,
    waiting: 0,
  };
}

/** Sets `waiting` of the keys without a free slot (built-ins.2). */
async function countWaiting(client: Client, keys: readonly LimiterKeyShape[]): Promise<void> {
  const full = keys.filter(
    ({ concurrency = Infinity, inUse, nextAt }) => inUse >= concurrency || nextAt !== undefined,
  );
  for (const [index, key] of full.entries()) {
    if (index >= COUNTED_MAX) {
      delete key.waiting;
      continue;
    }
    const { items } = await client.get(key.instance.id).unread({ limit: WAITING_MAX });
    key.waiting = items.filter(({ requestId }) => requestId !== undefined).length;
  }
}

export async function entityNames({
  client,
}: Services): Promise<readonly v.InferInput<typeof entityName>[]> {
  const names = await namesWithRole(client, "entity");
  return Promise.all(names.map(async (name) => ({ name, count: await client.count({ name }) })));
}

/** A page of the keys of an entity, with their states. */
export async function entitiesOf(
  { client, provider, codec }: Services,
  name: string,
  { prefix, cursor, limit }: { prefix?: string; cursor?: string; limit?: number },
): Promise<v.InferInput<typeof entityPage>> {
  const filter = { name, ...(prefix === undefined ? {} : { idPrefix: `${name}/${prefix}` }) };
  const page = await client.list(filter, {
    limit: limit ?? KEYS_SHOWN_MAX,
    ...defined({ cursor }),
  });
  const items = page.items.map(async (instance) => {
    const stored = await provider.readKeyValue(instance.id, PUBLISHED_KEY);
    const state =
      stored === null
        ? undefined
        : payloadToHttp(stored.value, codec, { charsMax: STATE_CHARS_MAX });
    return {
      key: instance.id.slice(name.length + 1),
      instance: summaryToHttp(instance),
      ...member("state", state),
    };
  });
  return { items: await Promise.all(items), ...defined({ cursor: page.cursor }) };
}

function iso(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}

/** The members that are not null. */
function given<const Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], null> } {
  const entries = Object.entries(members).filter(([, each]) => each !== null);
  return Object.fromEntries(entries) as { [Name in keyof Members]?: Exclude<Members[Name], null> }; // as filtered
}
