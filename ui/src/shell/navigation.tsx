// The navigation: links to the pages, the user, the connection state.

import type { ReactElement } from "react";
import { useSession } from "../api/session.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { addressTo, useHashLocation } from "../router/hash-location.ts";
import { LiveLight } from "./live-light.tsx";
import { Logo } from "./logo.tsx";
import { ThemeButton } from "./theme-button.tsx";

const LINKS: readonly { readonly path: string; readonly title: string; readonly icon: IconName }[] =
  [
    { path: "", title: "Overview", icon: "overview" },
    { path: "instances", title: "Instances", icon: "instances" },
    { path: "queues", title: "Queues", icon: "queues" },
    { path: "schedules", title: "Schedules", icon: "clock" },
    { path: "entities", title: "Entities", icon: "entity" },
    { path: "runtimes", title: "Workers", icon: "runtimes" },
  ];

export function Navigation({
  onHelp,
  onLogout,
}: {
  readonly onHelp: () => void;
  readonly onLogout: () => void;
}): ReactElement {
  const { name, role, readOnly } = useSession();
  const [first = ""] = useHashLocation().path;
  return (
    <nav className="navigation" aria-label="Pages">
      <a className="brand" href={addressTo([])}>
        <Logo />
        Perdure
      </a>
      <div className="navigation-links">
        {LINKS.map(({ path, title, icon }) => (
          <a
            key={path}
            className="navigation-link"
            href={addressTo(path === "" ? [] : [path])}
            aria-current={first === path ? "page" : undefined}
          >
            <Icon name={icon} />
            {title}
          </a>
        ))}
      </div>
      <div className="navigation-foot">
        <LiveLight />
        <span className="caller cut" title={`${name}, ${role}`}>
          {name} · {readOnly ? "read-only" : role}
        </span>
        <span className="row">
          <ThemeButton />
          <button
            type="button"
            className="button help-button"
            data-kind="quiet"
            data-size="small"
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
            onClick={onHelp}
          >
            <Icon name="keyboard" />
          </button>
          <button
            type="button"
            className="button"
            data-kind="quiet"
            data-size="small"
            aria-label="Log out"
            title="Log out"
            onClick={onLogout}
          >
            <Icon name="out" />
          </button>
        </span>
      </div>
    </nav>
  );
}
