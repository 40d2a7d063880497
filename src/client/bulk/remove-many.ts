// Deletes the instances of a filter, or prunes their old executions.

import { checkMembers, type Members } from "../../core/checks.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { isTerminalStatus, type FoundInstance, type Removed } from "../../core/provider/index.ts";
import {
  refusedAsChild,
  refusedAsLive,
  type DeleteRefusal,
} from "../../core/provider/shared/delete-refusals.ts";
import { defined } from "../../core/values/defined.ts";
import { checkPrune, deleteInstance, pruneInstance, type PruneOptions } from "../admin.ts";
import type { Store } from "../store.ts";
import {
  applyToMany,
  refusalOf,
  type ApplyToPage,
  type BulkOperation,
  type BulkReport,
  type RefusedInstance,
} from "./apply.ts";
import {
  BULK_OPTIONS,
  bulkFilter,
  checkBulk,
  ENDED,
  type BulkFilter,
  type BulkOptions,
} from "./selection.ts";

/** What `client.deleteMany` or `client.pruneMany` removed. */
export interface RemovedMany extends BulkReport, Removed {}
/** Options of `client.pruneMany`. */
export type PruneManyOptions = PruneOptions & BulkOptions;

const PRUNE_OPTIONS: Members<PruneManyOptions> = {
  ...BULK_OPTIONS,
  keepLast: true,
  completedBefore: true,
};

/** Removes from the instances of a page, one after the other, and adds up what was removed. */
export class Removal implements BulkOperation {
  total: Removed = { instances: 0, executions: 0, events: 0, messages: 0 };
  readonly #remove: (id: string) => Promise<Removed>;
  readonly check: ApplyToPage;

  private constructor(remove: (id: string) => Promise<Removed>, check: ApplyToPage) {
    this.#remove = remove;
    this.check = check;
  }

  static deletes(store: Store): Removal {
    return new Removal((id) => deleteInstance(store, id), deletionCheck(store));
  }
  static prunes(store: Store, options: PruneOptions): Removal {
    return new Removal(
      (id) => pruneInstance(store, id, options),
      () => Promise.resolve([]),
    );
  }

  readonly apply: ApplyToPage = async (ids) => {
    const outcomes = [];
    for (const id of ids) outcomes.push(await this.#one(id));
    return outcomes.flatMap((refusal) => refusal ?? []);
  };

  async #one(id: string) {
    try {
      const { instances, executions, events, messages } = await this.#remove(id);
      const { total } = this;
      this.total = {
        instances: total.instances + instances,
        executions: total.executions + executions,
        events: total.events + events,
        messages: total.messages + messages,
      };
      return null;
    } catch (error) {
      // It was deleted meanwhile, for example together with its parent.
      return isPerdureError(error, "INSTANCE_NOT_FOUND") ? null : refusalOf(id)(error);
    }
  }
}

/** Which deletions would be refused. An instance is deleted with its parent, which comes before it. */
function deletionCheck(store: Store): ApplyToPage {
  const deleted = new Set<string>();
  return async (ids) => {
    const refused: RefusedInstance[] = [];
    for (const id of ids) {
      const refusal = await deletionRefusal(store, id, deleted);
      if (refusal === null) deleted.add(id);
      else refused.push({ id, code: refusal.code, message: refusal.message });
    }
    return refused;
  };
}

async function deletionRefusal(
  store: Store,
  id: string,
  deleted: ReadonlySet<string>,
): Promise<DeleteRefusal | null> {
  const record = await store.read((provider) => provider.readInstance(id));
  if (record === null) return null; // as in #one
  const { parent } = record;
  if (parent !== null && deleted.has(parent.id)) return null;
  const live = await liveIn(store, record);
  if (live !== null) return refusedAsLive(id, live);
  if (parent === null) return null;
  const found = await store.read((provider) => provider.readInstance(parent.id));
  return found === null ? null : refusedAsChild(id, parent.id);
}

/** The instance or a descendant that has not ended; null: there is none. */
async function liveIn(
  store: Store,
  { id, status }: Pick<FoundInstance, "id" | "status">,
): Promise<string | null> {
  if (!isTerminalStatus(status)) return id;
  for (const child of await store.read((provider) => provider.listChildren(id))) {
    const live = await liveIn(store, child);
    if (live !== null) return live;
  }
  return null;
}

/** Deletes ended instances only. Children of live instances are refused. */
export async function deleteMany(
  store: Store,
  given: BulkFilter,
  options: BulkOptions,
): Promise<RemovedMany> {
  checkMembers(options, BULK_OPTIONS, "client.deleteMany");
  checkBulk(options);
  const filter = bulkFilter(given, ENDED, "client.deleteMany");
  const removal = Removal.deletes(store);
  const report = await applyToMany(store, filter, options, removal);
  return { ...report, ...removal.total };
}

export async function pruneMany(
  store: Store,
  given: BulkFilter,
  options: PruneManyOptions,
): Promise<RemovedMany> {
  checkMembers(options, PRUNE_OPTIONS, "client.pruneMany");
  const { limit, dryRun, cursor, ...which } = options;
  const bulk = defined({ limit, dryRun, cursor });
  checkBulk(bulk);
  checkPrune(store, which);
  const filter = bulkFilter(given, {}, "client.pruneMany");
  const removal = Removal.prunes(store, which);
  const report = await applyToMany(store, filter, bulk, removal);
  return { ...report, ...removal.total };
}
