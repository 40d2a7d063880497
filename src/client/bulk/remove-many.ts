// Deletes the instances of a filter, or prunes their old executions.

import { checkMembers, type Members } from "../../core/checks.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Removed } from "../../core/provider/index.ts";
import { defined } from "../../core/values/defined.ts";
import { checkPrune, deleteInstance, pruneInstance, type PruneOptions } from "../admin.ts";
import type { Store } from "../store.ts";
import { applyToMany, refusalOf, type ApplyToPage, type BulkReport } from "./apply.ts";
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
export class Removal {
  total: Removed = { instances: 0, executions: 0, events: 0, messages: 0 };
  readonly #remove: (id: string) => Promise<Removed>;

  private constructor(remove: (id: string) => Promise<Removed>) {
    this.#remove = remove;
  }

  static deletes(store: Store): Removal {
    return new Removal((id) => deleteInstance(store, id));
  }
  static prunes(store: Store, options: PruneOptions): Removal {
    return new Removal((id) => pruneInstance(store, id, options));
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
  const report = await applyToMany(store, filter, options, removal.apply);
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
  const report = await applyToMany(store, filter, bulk, removal.apply);
  return { ...report, ...removal.total };
}
