import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/completion.css";
import "./style/feeds.css";
import "./style/tables.css";
import "./style/values.css";
import "./style/watches.css";
import { showStartFault } from "./faults/fault.ts";
import { provideUsableLanguage } from "./faults/language.ts";

addEventListener("error", ({ error, message }) => showStartFault(error ?? message));
addEventListener("unhandledrejection", ({ reason }) => showStartFault(reason));
provideUsableLanguage(navigator);
// Loaded only now: an error of any module on the way is shown, and the charts find a language that they can use.
import("./mount.tsx").then(({ mount }) => mount()).catch(showStartFault);
