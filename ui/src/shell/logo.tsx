// The logo, as in public/icon.svg.

import type { ReactElement } from "react";

export function Logo(): ReactElement {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#4f46e5" />
      <path
        d="M10 25V8h7.2a5.3 5.3 0 0 1 0 10.6H13"
        fill="none"
        stroke="#fff"
        strokeWidth="3.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="22.6" cy="24.4" r="2.2" fill="#a5f3fc" />
    </svg>
  );
}
