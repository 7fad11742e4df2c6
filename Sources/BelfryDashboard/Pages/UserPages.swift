import BelfryCore
import FoundationEssentials

/// Users: their ids, and all devices of one.
struct UserPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.application(.get, "users", .read, list)] }

    private static let perPage = 50

    @Sendable private func list(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let platforms = try await store.platforms(of: application.key)
        let id = visit.query.raw("id")
        guard id.isEmpty else {
            let placed = try await store.devices(named: .users([id]), on: platforms.map(\.key))
            let search = DeviceSearch(platforms: platforms.map(\.key), text: id)
            let found = try await visit.searching(application) {
                try await store.devices(search, after: nil, limit: 200)
            }
            let devices = found.filter { $0.customUserID == id }
            let active = placed.values.reduce(0) { $0 + $1.count }
            return .page(Self.page(user: id, devices, active: active, platforms, application))
        }
        let text = visit.query["q"]
        let after = visit.query.raw("after")
        let ids = try await visit.searching(application) {
            try await store.customUserIDs(
                on: platforms.map(\.key), containing: text.isEmpty ? nil : text, after: after.isEmpty ? nil : after,
                limit: Self.perPage)
        }
        var page = Self.page(ids, search: text, application)
        if ids.count == Self.perPage, let last = ids.last {
            page.sections[0].table?.next = Address.query(
                Address.of(application, "users"), [("q", text), ("after", last)])
        }
        return .page(page)
    }

    static func page(_ ids: [String], search: String, _ application: Application) -> PageView {
        var page = PageView("Users", lead: "By the custom user id that the app gave its devices.")
        page.crumbs = [Link(application.name, Address.of(application))]
        var section = Section()
        section.form = .filter(
            Address.of(application, "users"), [.text("q", "A part of the id", search, type: "search")], "Search")
        section.table = Table(
            "Users", ["Custom user id"],
            ids.map { [[.link($0, Address.query(Address.of(application, "users"), [("id", $0)]))]] },
            empty: search.isEmpty
                ? "No active device has a custom user id." : "No active device has that in its custom user id.")
        page.sections = [section]
        return page
    }

    static func page(
        user id: String, _ devices: [Device], active: Int, _ platforms: [Platform], _ application: Application
    ) -> PageView {
        let byKey = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
        var page = PageView(id, lead: active == 1 ? "One active device." : "\(active.grouped) active devices.")
        page.crumbs = [
            Link(application.name, Address.of(application)), Link("Users", Address.of(application, "users")),
        ]
        var section = Section("Devices")
        section.table = Table(
            "Devices", ["Device", "Platform", "Model", "State", "Registered"],
            devices.map { device in
                [
                    [.link(device.label, Address.of(application, "devices", device.uuid.lowercased))],
                    [.text(byKey[device.platformKey]?.name ?? "")], [.text(device.about.model ?? "")], [device.state],
                    [.time(device.registeredAt)],
                ]
            }, empty: "No device has this custom user id.")
        page.sections = [section]
        return page
    }
}
