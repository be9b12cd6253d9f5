import { LocationProvider, Route, Router } from "preact-iso";
import { Layout } from "./frame/layout.tsx";
import { AddressPage } from "./pages/address/address-page.tsx";
import { AddressesPage } from "./pages/addresses/addresses-page.tsx";
import { CallbacksPage } from "./pages/callbacks/callbacks-page.tsx";
import { ComparePage } from "./pages/compare/compare-page.tsx";
import { FeedPage } from "./pages/feed/feed-page.tsx";
import { FeedsPage } from "./pages/feeds/feeds-page.tsx";
import { NetworkPage } from "./pages/network/network-page.tsx";
import { NotFoundPage } from "./pages/not-found/not-found-page.tsx";
import { OverviewPage } from "./pages/overview/overview-page.tsx";
import { CountryPage, NetworkOfAsnPage } from "./pages/place/place-page.tsx";
import { PlansPage } from "./pages/plans/plans-page.tsx";
import { SearchPage } from "./pages/search/search-page.tsx";
import { SensorsPage } from "./pages/sensors/sensors-page.tsx";
import { TagPage } from "./pages/tag/tag-page.tsx";
import { TagsPage } from "./pages/tags/tags-page.tsx";
import { HomePage } from "./pages/today/home-page.tsx";
import { TodayPage } from "./pages/today/today-page.tsx";
import { WatchPage } from "./pages/watch/watch-page.tsx";
import { WatchesPage } from "./pages/watches/watches-page.tsx";
import { BASE, PAGES } from "./routing/paths.ts";

export function App() {
  return (
    <LocationProvider scope={PAGES}>
      <Layout>
        <Router>
          <Route path={`${BASE}/`} component={HomePage} />
          <Route path={`${BASE}/today`} component={TodayPage} />
          <Route path={`${BASE}/overview`} component={OverviewPage} />
          <Route path={`${BASE}/ip/:ip`} component={AddressPage} />
          <Route path={`${BASE}/riot/:ip`} component={AddressPage} />
          <Route path={`${BASE}/addresses`} component={AddressesPage} />
          <Route path={`${BASE}/networks/:ip/:length`} component={NetworkPage} />
          <Route path={`${BASE}/asns/:asn`} component={NetworkOfAsnPage} />
          <Route path={`${BASE}/countries/:country`} component={CountryPage} />
          <Route path={`${BASE}/search`} component={SearchPage} />
          <Route path={`${BASE}/compare`} component={ComparePage} />
          <Route path={`${BASE}/callbacks`} component={CallbacksPage} />
          <Route path={`${BASE}/feeds`} component={FeedsPage} />
          <Route path={`${BASE}/feeds/:name`} component={FeedPage} />
          <Route path={`${BASE}/tags`} component={TagsPage} />
          <Route path={`${BASE}/tags/:slug`} component={TagPage} />
          <Route path={`${BASE}/watches`} component={WatchesPage} />
          <Route path={`${BASE}/watches/:id`} component={WatchPage} />
          <Route path={`${BASE}/sensors`} component={SensorsPage} />
          <Route path={`${BASE}/plans`} component={PlansPage} />
          <Route default component={NotFoundPage} />
        </Router>
      </Layout>
    </LocationProvider>
  );
}
