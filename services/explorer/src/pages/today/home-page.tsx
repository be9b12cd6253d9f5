import { today } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { OverviewPage } from "../overview/overview-page.tsx";
import { TodayOf } from "./today-page.tsx";

/** `/`: what is different since yesterday, once there is a yesterday; until then the overview. */
export function HomePage() {
  const answer = useAnswer(today());
  const isOverview = answer.failure !== undefined || answer.data?.metadata.has_yesterday === false;
  return isOverview ? <OverviewPage /> : <TodayOf answer={answer} />;
}
