// Nothing to show, and why, and what to do about it.

import type { ReactElement, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export function Empty({
  icon = "inbox",
  title,
  children,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ReactNode;
}): ReactElement {
  return (
    <div className="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children === undefined ? null : <span>{children}</span>}
    </div>
  );
}
