// The tab with the custom status, key-values, attributes and unread events.

import type { ReactElement } from "react";
import { inspect } from "../api/endpoints.ts";
import type { Change } from "../api/changes.ts";
import type { Instance } from "../api/types.ts";
import { useChanges } from "../api/use-changes.ts";
import { useLoaded, type Loaded } from "../api/use-loaded.ts";
import { attributeText } from "../parts/attribute-tags.tsx";
import { Fact } from "../parts/fact.tsx";
import { formatBytes, formatCount } from "../parts/format.ts";
import { Loading } from "../parts/loading.tsx";
import { Panel } from "../parts/panel.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ValueView } from "../values/value-view.tsx";

const REFRESH_MS = 1_000;

export function StateTab({ instance }: { readonly instance: Instance }): ReactElement {
  const { id, customStatus, customStatusVersion, attributes } = instance;
  const keyValues = useLoaded(`kv ${id}`, (signal) => inspect.keyValues(id, signal));
  const unread = useLoaded(`unread ${id}`, (signal) => inspect.unread(id, signal));
  const sizes = useLoaded(`stats ${id}`, (signal) => inspect.statistics(id, signal));
  const isOfInterest = ({ ids, all }: Change): boolean => all || ids.includes(id);
  const refresh = (): void => [keyValues, unread, sizes].forEach((each) => each.refresh());
  useChanges(isOfInterest, refresh, REFRESH_MS);
  const attributeEntries = Object.entries(attributes);
  return (
    <div className="columns">
      <Panel
        title="Custom status"
        tools={<span className="faint">version {customStatusVersion}</span>}
      >
        {customStatus === undefined ? (
          <p className="muted">Not set.</p>
        ) : (
          <ValueView value={customStatus} label="the custom status" />
        )}
      </Panel>
      <Panel title="Key-values">
        <Items loaded={keyValues} none="None." item={({ key, value }) => ({ name: key, value })} />
      </Panel>
      <Panel title="Attributes">
        {attributeEntries.length === 0 ? (
          <p className="muted">None.</p>
        ) : (
          <dl className="facts">
            {attributeEntries.map(([name, value]) => (
              <Fact key={name} name={name}>
                {attributeText(value)}
              </Fact>
            ))}
          </dl>
        )}
      </Panel>
      <Panel title="Unread events">
        <Items
          loaded={{ ...unread, data: unread.data?.items }}
          none="No unread events."
          item={({ name, data, refused, requestId, callback }) => ({
            name: `${requestId !== undefined ? "request " : callback === true ? "callback " : ""}${name}`,
            value: data,
            note: refused?.message,
          })}
        />
        {unread.data?.cursor === undefined ? null : (
          <p className="muted">
            Showing the first {formatCount(unread.data.items.length)}
            {sizes.data === undefined ? "." : ` of ${formatCount(sizes.data.unread)}.`}
          </p>
        )}
      </Panel>
      <Panel title="Size">
        {sizes.data === undefined ? (
          <Loading rows={1} />
        ) : (
          <dl className="facts">
            <Fact name="Events">{formatCount(sizes.data.events)}</Fact>
            <Fact name="History">{formatBytes(sizes.data.bytes)}</Fact>
            <Fact name="Keys">{formatCount(sizes.data.keys)}</Fact>
            <Fact name="Key-values">{formatBytes(sizes.data.keyBytes)}</Fact>
          </dl>
        )}
      </Panel>
    </div>
  );
}

interface ShownItem {
  readonly name: string;
  readonly value: unknown;
  /** A warning about the item. */
  readonly note?: string | undefined;
}

function Items<T>({
  loaded,
  none,
  item,
}: {
  readonly loaded: Loaded<readonly T[]>;
  readonly none: string;
  readonly item: (each: T) => ShownItem;
}): ReactElement {
  if (loaded.data === undefined) {
    if (loaded.problem === undefined) return <Loading rows={2} />;
    return <ProblemNote problem={loaded.problem} retry={loaded.refresh} />;
  }
  if (loaded.data.length === 0) return <p className="muted">{none}</p>;
  return (
    <ul className="stack">
      {loaded.data.map(item).map(({ name, value, note }, index) => (
        <li key={index}>
          <h3 className="mono wrap">{name}</h3>
          {note === undefined ? null : (
            <p className="hint wrap" data-tone="danger">
              {note}
            </p>
          )}
          <ValueView value={value} label={name} />
        </li>
      ))}
    </ul>
  );
}
