// A button that switches to the next theme.

import type { ReactElement } from "react";
import { Icon, type IconName } from "../parts/icon.tsx";
import { setTheme, THEMES, useTheme, type Theme } from "./theme.ts";

const ICONS: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" };

export function ThemeButton(): ReactElement {
  const theme = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  const label = `Theme: ${theme}. Change to ${next}`;
  return (
    <button
      type="button"
      className="button"
      data-kind="quiet"
      data-size="small"
      aria-label={label}
      title={label}
      onClick={() => setTheme(next)}
    >
      <Icon name={ICONS[theme]} />
    </button>
  );
}
