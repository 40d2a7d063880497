// Listing: finds and counts instances.
//   - listing.1: One row more than requested is read, to know whether there is more.
//   - listing.2: A list reads through the source that finds the fewest candidates (list-sources.ts), if that is at
//       most FEW. Otherwise it reads on in the order of the list until its page is full: if many instances match,
//       that is soon.
//   - Counting candidates costs something, too, so the sources are counted up to FEW only. Counting and sorting FEW
//       candidates takes about as long as testing the candidates for a page of which one in thirty matches.
//   - All ways return the same rows in the same order. The statement of a filter is not prepared on the server:
//       there are too many different filters.

import type {
  FoundPage,
  InstanceFilter,
  InstancePage,
  ListRequest,
} from "../../core/provider/admin.ts";
import type { FoundInstance } from "../../core/provider/instances.ts";
import { integer, only, text as textOf, type Row } from "../columns.ts";
import { FOUND_COLUMNS, LISTED_COLUMNS, toFound, toListed } from "../rows/instance-rows.ts";
import { Parameters, type Bind } from "../script/parameters.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import { writtenLike } from "./attribute-tests.ts";
import { countNamed } from "./metrics.ts";
import { conditionOf, type FilterParts, type ReadyFilter } from "./instance-filter.ts";
import {
  afterPlace,
  cursorAfter,
  inOrder,
  parseCursor,
  unindexed,
  type ListPlace,
  type OrderParts,
  type Place,
} from "./list-order.ts";
import {
  ALL,
  branchesOf,
  isOrdered,
  LIVE,
  sourcesOf,
  type Source,
  type SourceParts,
} from "./list-sources.ts";

/** What differs between the stores. */
export interface ListingParts extends FilterParts, SourceParts, OrderParts {
  readonly selectChildren: Statement;
}

/** Up to this many candidates are always worth reading and sorting. */
export const FEW = 30_000;
/** The most candidates that are tested at a time. */
const PORTION_MAX = 5_000;
/** Up to this many instances are listed by their keys in the condition of a text. */
const TEXT_KEYS_MAX = 1_000;

const SELECT_TEXT_NAMES = selectNames("text");
const SELECT_NUMBER_NAMES = selectNames("number");

/** The names of attributes, read with one lookup per name. */
function selectNames(column: "text" | "number"): Statement {
  return new Statement(`
    WITH RECURSIVE names (name) AS (
      SELECT min(a.name) FROM @attributes AS a WHERE a.${column} IS NOT NULL
      UNION ALL
      SELECT (SELECT min(a.name) FROM @attributes AS a
        WHERE a.${column} IS NOT NULL AND a.name > n.name)
      FROM names AS n WHERE n.name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL`);
}

interface Searched {
  readonly filter: ReadyFilter;
  readonly parts: ListingParts;
}
interface Listing extends Searched {
  readonly request: ListRequest;
  readonly columns: string;
  /** One more than the page (listing.1). */
  readonly wanted: number;
  /** A further condition on `i`. */
  readonly also?: string;
}

export const listInstances = (request: ListRequest, parts: ListingParts): Script<InstancePage> =>
  page(request, parts, LISTED_COLUMNS, toListed);

export const findInstances = (request: ListRequest, parts: ListingParts): Script<FoundPage> =>
  page(request, parts, `${FOUND_COLUMNS}, updated_at`, toFound);

/** The direct children, of all executions of the parent, oldest first. */
export function* listChildren(id: string, parts: ListingParts): Script<readonly FoundInstance[]> {
  return (yield* run(parts.selectChildren, id)).map(toFound);
}

function* page<Item>(
  request: ListRequest,
  parts: ListingParts,
  columns: string,
  toItem: (row: Row) => Item,
): Script<{ items: Item[]; cursor: string | null }> {
  const from = parseCursor(request, parts);
  const filter = yield* ready(request.filter);
  const listing = { request, filter, columns, parts, wanted: request.limit + 1 };
  const rows = yield* (request.orderBy ?? "createdAt") === "createdAt"
    ? byCreation(listing, from.place)
    : byTime(listing, from);
  const last = rows.length > request.limit ? rows[request.limit - 1] : undefined;
  return {
    items: rows.slice(0, request.limit).map(toItem),
    cursor: last === undefined ? null : cursorAfter(last, request, parts),
  };
}

export function* countInstances(filter: InstanceFilter, parts: ListingParts): Script<number> {
  const named = yield* countNamed(filter);
  if (named !== null) return named;
  const prepared = yield* ready(filter);
  const sources = sourcesOf(filter, parts);
  const searched = { filter: prepared, parts };
  const source = yield* fewest(sources, searched);
  const { bind, values } = new Parameters();
  const among = source === undefined ? "true" : isAmong(source, searched, bind);
  const count = new Statement(`
    SELECT count(*) AS instances FROM @instances AS i
    WHERE ${among} AND ${conditionOf(prepared, bind, parts)}`);
  return integer(only(yield* run(count, ...values)), "instances");
}

/** Looks up the instances with an attribute that is written like the text (admin.8): under each name, in its index. */
function* ready(filter: InstanceFilter): Script<ReadyFilter> {
  const { text } = filter;
  if (text === undefined) return filter;
  const names = yield* together(call(SELECT_TEXT_NAMES), call(SELECT_NUMBER_NAMES));
  const [texts = [], numbers = []] = names.map(({ rows }) =>
    rows.map((row) => textOf(row, "name")),
  );
  const { bind, values } = new Parameters();
  const [likeText, likeNumber] = writtenLike(text, bind);
  const found = [
    `SELECT a.instance AS key FROM @attributes AS a
      WHERE a.name = ANY (${bind(texts)}::text[]) AND ${likeText}`,
    ...(likeNumber === undefined
      ? []
      : [
          `SELECT a.instance AS key FROM @attributes AS a
            WHERE a.name = ANY (${bind(numbers)}::text[]) AND ${likeNumber}`,
        ]),
  ];
  const select = new Statement(`${found.join(" UNION ALL ")} LIMIT ${TEXT_KEYS_MAX + 1}`);
  const keys = (yield* run(select, ...values)).map((row) => integer(row, "key"));
  return { ...filter, textKeys: keys.length > TEXT_KEYS_MAX ? null : keys };
}

/** listing.2 */
function* byCreation(listing: Listing, from: Place | null): Script<readonly Row[]> {
  const { filter, parts } = listing;
  const sources = sourcesOf(filter, parts);
  const [only] = sources;
  if (only === undefined) return yield* walkAll(listing, from);
  if (sources.length === 1 && isOrdered(only)) return yield* walk(listing, only, from);
  const few = yield* fewest(sources, listing);
  return yield* walk(listing, few ?? sources.find(isOrdered) ?? ALL, from);
}

/** Without any source: one statement, in the order of the list. */
function* walkAll(
  { request, filter, columns, parts, wanted }: Listing,
  from: Place | null,
): Script<readonly Row[]> {
  const { bind, values } = new Parameters();
  const order = parts.created.map((column) => `i.${column}`);
  const select = new Statement(`
    SELECT ${columns} FROM @instances AS i
    WHERE ${conditionOf(filter, bind, parts)} AND ${afterPlace(order, from, request, bind)}
    ${inOrder(order, request)} LIMIT ${bind(wanted)}::bigint`);
  return yield* run(select, ...values);
}

/** Tests candidates of the source in the order of the list, in growing portions, until the page is full. */
function* walk(listing: Listing, source: Source, from: Place | null): Script<readonly Row[]> {
  const { wanted, parts } = listing;
  const rows: Row[] = [];
  let place = from;
  for (let portion = wanted; ; portion = Math.min(portion * 4, PORTION_MAX)) {
    const candidates = yield* candidatesAfter(listing, source, place, portion);
    const keys = candidates.map((row) => integer(row, "key"));
    if (keys.length > 0) rows.push(...(yield* matching(listing, keys, wanted - rows.length)));
    const last = candidates.at(-1);
    if (rows.length >= wanted || candidates.length < portion || last === undefined) return rows;
    place = parts.created.map((column) => integer(last, column));
  }
}

/** The next candidates of a source, in the order of the list. */
function* candidatesAfter(
  { request, filter, parts }: Listing,
  source: Source,
  place: Place | null,
  limit: number,
): Script<readonly Row[]> {
  const { bind, values } = new Parameters();
  const most = bind(limit);
  const branches = branchesOf(source, filter, bind, parts);
  const selects = branches.map(({ from, where, key, created, names }) => {
    const columns = parts.created.map((column) => (column === "key" ? key : created));
    const shown = parts.created.map((column) => `${column === "key" ? key : created} AS ${column}`);
    const order = isOrdered(source) ? columns : columns.map((column) => unindexed(column, parts));
    const select = `SELECT ${shown.join(", ")} FROM ${from}
      WHERE ${where} AND ${names === null ? "true" : "i.name = n.name"}
        AND ${afterPlace(order, place, request, bind)}
      ${inOrder(order, request)} LIMIT ${most}::bigint`;
    // list-sources.2
    return names === null
      ? select
      : `SELECT e.* FROM (${names}) AS n CROSS JOIN LATERAL (${select}) AS e`;
  });
  if (selects.length === 0) return [];
  const all = selects.map((select, index) => `SELECT * FROM (${select}) AS b${index}`);
  const order = parts.created.map((column) => `b.${column}`);
  const merged = `SELECT * FROM (${all.join(" UNION ALL ")}) AS b
    ${inOrder(order, request)} LIMIT ${most}::bigint`;
  const isInOrder = branches.length === 1 && branches[0]?.names === null;
  return yield* run(new Statement(isInOrder ? selects.join("") : merged), ...values);
}

/** Those of the candidates that match the filter, in the order of the list. */
function* matching(
  { request, filter, columns, parts, also = "true" }: Listing,
  keys: readonly number[],
  limit: number,
): Script<readonly Row[]> {
  const { bind, values } = new Parameters();
  const order = parts.created.map((column) => unindexed(`i.${column}`, parts));
  const select = new Statement(`
    SELECT ${columns} FROM @instances AS i
    WHERE i.key = ANY (${bind(keys)}::bigint[]) AND ${conditionOf(filter, bind, parts)} AND ${also}
    ${inOrder(order, request)} LIMIT ${bind(limit)}::bigint`);
  return yield* run(select, ...values);
}

/** By `updatedAt` or `completedAt`. */
function* byTime(listing: Listing, from: ListPlace): Script<readonly Row[]> {
  const sources = sourcesOf(listing.filter, listing.parts);
  const source = yield* fewest(sources, listing);
  if (listing.request.orderBy === "updatedAt") {
    return yield* sorted(listing, "updated_at", source, from.place);
  }
  const ended = from.isAfterEnded ? [] : yield* endedOf(listing, source, from.place);
  const left = listing.wanted - ended.length;
  if (left <= 0) return ended;
  const live = { ...listing, wanted: left };
  return [...ended, ...(yield* notEnded(live, source, from.isAfterEnded ? from.place : null))];
}

/** Those that have ended, by the time of the end. */
function* endedOf(
  listing: Listing,
  source: Source | undefined,
  place: Place | null,
): Script<readonly Row[]> {
  const { request, filter, columns, parts, wanted } = listing;
  if (source !== undefined) return yield* sorted(listing, "completed_at", source, place);
  const order = ["i.completed_at", "i.key"];
  const calls = parts.ended.map((condition) => {
    const { bind, values } = new Parameters();
    const select = new Statement(`
      SELECT ${columns} FROM @instances AS i
      WHERE ${condition} AND ${conditionOf(filter, bind, parts)}
        AND ${afterPlace(order, place, request, bind)}
      ${inOrder(order, request)} LIMIT ${bind(wanted)}::bigint`);
    return call(select, ...values);
  });
  const rows = (yield* together(...calls)).flatMap((answer) => answer.rows);
  const sign = request.order === "newest" ? -1 : 1;
  const compare = (a: Row, b: Row): number =>
    integer(a, "completed_at") - integer(b, "completed_at") ||
    integer(a, "key") - integer(b, "key");
  return rows.toSorted((a, b) => sign * compare(a, b)).slice(0, wanted);
}

/** Those that have not ended, by creation. */
function* notEnded(
  listing: Listing,
  source: Source | undefined,
  place: Place | null,
): Script<readonly Row[]> {
  if (source === undefined) {
    const live = { ...listing, also: "i.completed_at IS NULL" };
    return yield* walk(live, LIVE, place);
  }
  const { request, filter, columns, parts, wanted } = listing;
  const { bind, values } = new Parameters();
  const order = parts.created.map((column) => unindexed(`i.${column}`, parts));
  const among = isAmong(source, { filter, parts }, bind);
  const select = new Statement(`
    SELECT ${columns} FROM @instances AS i
    WHERE i.completed_at IS NULL AND ${among} AND ${conditionOf(filter, bind, parts)}
      AND ${afterPlace(order, place, request, bind)}
    ${inOrder(order, request)} LIMIT ${bind(wanted)}::bigint`);
  return yield* run(select, ...values);
}

/** Sorts all that match by a time, then reads the columns of the page only. */
function* sorted(
  { request, filter, columns, parts, wanted }: Listing,
  time: "updated_at" | "completed_at",
  source: Source | undefined,
  place: Place | null,
): Script<readonly Row[]> {
  const { bind, values } = new Parameters();
  const order = [`i.${time}`, "i.key"].map((column) => unindexed(column, parts));
  const among = source === undefined ? "true" : isAmong(source, { filter, parts }, bind);
  const select = new Statement(`
    SELECT ${columns} FROM @instances AS i WHERE i.key = ANY (ARRAY(
      SELECT i.key FROM @instances AS i
      WHERE i.${time} IS NOT NULL AND ${among} AND ${conditionOf(filter, bind, parts)}
        AND ${afterPlace(order, place, request, bind)}
      ${inOrder(order, request)} LIMIT ${bind(wanted)}::bigint))
    ${inOrder(order, request)}`);
  return yield* run(select, ...values);
}

/** The source with the fewest candidates, if it has at most FEW. */
function* fewest(
  sources: readonly Source[],
  { filter, parts }: Searched,
): Script<Source | undefined> {
  if (sources.length === 0) return undefined;
  const answers = yield* together(
    ...sources.map((source) => {
      const { bind, values } = new Parameters();
      const rows = branchesOf(source, filter, bind, parts).map(
        ({ from, where }) => `SELECT 1 AS one FROM ${from} WHERE ${where}`,
      );
      const all = rows.length === 0 ? "SELECT 1 AS one WHERE false" : rows.join(" UNION ALL ");
      const count = new Statement(`
        SELECT count(*) AS found FROM (${all} LIMIT ${FEW + 1}) AS c`);
      return call(count, ...values);
    }),
  );
  const counts = answers.map(({ rows }) => integer(only(rows), "found"));
  const least = Math.min(...counts);
  return least > FEW ? undefined : sources[counts.indexOf(least)];
}

/** The condition that an instance `i` is a candidate of the source. */
function isAmong(source: Source, { filter, parts }: Searched, bind: Bind): string {
  const keys = branchesOf(source, filter, bind, parts).map(
    ({ key, from, where }) => `SELECT ${key} FROM ${from} WHERE ${where}`,
  );
  return keys.length === 0 ? "false" : `i.key = ANY (ARRAY(${keys.join(" UNION ALL ")}))`;
}
