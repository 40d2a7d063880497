// Dispatches: items that turns write to other instances, and the replies to their senders (provider.asks.4).
//   - postgres.dispatches.1: In one round trip, sends and asks are assumed to be accepted, and the replies say
//     so (postgres.asks.1). In the stepwise mode the items of all turns are one nested group, written after the
//     turns; the replies of all of them follow together (commit.ts).
//   - A turn that ends its execution gets no replies. A dispatched start with the id of the sender may replace the
//     sender: then no reply is written, and no message is due for it.
//   - A reply is part of the turn's result if it is due, so the sender needs no notification.

import type { Dispatch, DispatchResult } from "../../core/provider/asks.ts";
import type { CommitItem, TurnItem } from "../../core/provider/commit.ts";
import type { OutgoingMessage } from "../../core/provider/messages.ts";
import { DONE } from "../../core/provider/results.ts";
import { replyToDispatch } from "../../core/provider/shared/asks.ts";
import { integer } from "../../sql/columns.ts";
import { indexEquals } from "../../sql/index-lookup.ts";
import type { Pipeline } from "../connection/pipeline.ts";
import { Subject } from "../connection/subject.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY } from "../read/inbox.ts";
import { messageChecksum } from "../read/messages.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import type { EventItem, UnrecordedSend } from "./asks.ts";
import { IS_LIVE } from "./delivery.ts";

const REPLIES = new ColumnArrays({
  ...columns("bigint", "instance", "execution", "sequence", "checksum"),
  ...columns("text", "kind", "key", "data"),
});

const SENDERS = new ColumnArrays({ key: "bigint", execution: "bigint" });

/** A dispatched item with its sender. */
export interface Dispatched {
  readonly turn: TurnItem;
  readonly dispatch: Dispatch;
}

export class Dispatches extends Subject {
  readonly #reply = this.prepare(`
    INSERT INTO @inbox (${INBOX_COLUMNS})
    SELECT ${OF_INSTANCE}, (SELECT @clock()), t.execution, t.sequence, t.kind, NULL, t.key, t.data,
      t.checksum
    FROM ${REPLIES.from("t")} JOIN @instances AS i ON ${indexEquals("i.key", "t.instance")}
    WHERE ${IS_LIVE} AND i.execution = t.execution ORDER BY t.n ${ON_SAME_KEY}`);

  readonly #selectCurrent = this.prepare(`
    SELECT i.key FROM ${SENDERS.from("t")} JOIN @instances AS i ON ${indexEquals("i.key", "t.key")}
    WHERE ${IS_LIVE} AND i.execution = t.execution`);

  /** Replies as if every item was accepted (postgres.dispatches.1). */
  replyDone(pipeline: Pipeline, dispatched: readonly Dispatched[]): void {
    this.reply(
      pipeline,
      dispatched.map((item) => ({ ...item, result: DONE })),
    );
  }

  reply(
    pipeline: Pipeline,
    results: readonly (Dispatched & { readonly result: DispatchResult })[],
  ): void {
    const rows = results.flatMap(({ turn: { key, execution, change }, dispatch, result }) => {
      const reply = change.kind === "none" ? replyToDispatch(execution, dispatch, result) : null;
      return reply === null ? [] : [toColumns(key, reply)];
    });
    if (rows.length > 0) pipeline.add(this.#reply, REPLIES.values(rows));
  }

  /**
   * Call the returned function after the pipeline has run: it returns the keys of the senders that no dispatched
   * start has replaced.
   */
  current(pipeline: Pipeline, senders: readonly TurnItem[]): () => ReadonlySet<number> {
    const rows = senders.map(({ key, execution, change }) => ({
      key,
      execution: change.kind === "continued" ? execution + 1 : execution,
    }));
    const answer = pipeline.add(this.#selectCurrent, SENDERS.values(rows));
    return () => new Set(answer.rows.map((row) => integer(row, "key")));
  }
}

/** The dispatched items of turns. Each item is a new object, because results are stored by object. */
export function dispatchedBy(turns: readonly TurnItem[]): Dispatched[] {
  const all: Dispatched[] = [];
  for (const turn of turns) {
    if (turn.dispatched === undefined) continue;
    for (const dispatch of turn.dispatched) {
      all.push({ turn, dispatch: { ...dispatch, item: copyOf(dispatch) } });
    }
  }
  return all;
}

function copyOf({ item, hasOwnId }: Dispatch): Dispatch["item"] | UnrecordedSend {
  return item.kind === "send" && hasOwnId === true ? { ...item, hasOwnId } : { ...item };
}

/** Whether the turn and its dispatched items can be written in one round trip (postgres.dispatches.1). */
export function dispatchesOnlyEvents(turn: TurnItem | undefined): boolean {
  return turn?.dispatched?.every(({ item }) => isEventItem(item)) ?? true;
}

export function eventsOf(dispatched: readonly Dispatched[]): EventItem[] {
  return dispatched.map(({ dispatch }) => dispatch.item).filter(isEventItem);
}

export function isEventItem(item: CommitItem): item is EventItem {
  return item.kind === "send" || item.kind === "ask";
}

function toColumns(instance: number, reply: Omit<OutgoingMessage, "to">) {
  const { kind, execution, sequence, key, data } = reply;
  const checksum = messageChecksum({ sequence, kind, name: null, key, data });
  return { instance, execution, sequence, checksum, kind, key, data };
}
