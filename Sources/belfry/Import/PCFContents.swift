import BelfryService
import Foundation

/// Brings over what an application of an old server has besides devices. What is here already, equal in all its parts, is not made
/// again.
struct PCFContents {
    let server: PCFServer
    let caller: PCFServer.Caller
    let secrets: [UUID: String]
    let service: OperatorService
    let application: Application
    /// Whether all is counted and nothing is made.
    let isDryRun: Bool
    let begunAt: Instant

    struct Counts {
        var topics = 0
        var locations = 0
        var groups = 0
        var geofences = 0
        var schedules = 0
        /// Items that could not be taken over, and why.
        var refused: [String] = []

        var fields: [(String, String)] {
            [
                ("topics", topics.grouped), ("locations", locations.grouped), ("location_groups", groups.grouped),
                ("geofences", geofences.grouped), ("schedules", schedules.grouped),
            ] + refused.map { ("refused", $0) }
        }
    }

    private var store: any Store { service.store }

    func takeMap() async throws -> Counts {
        var counts = Counts()
        try await takeTopics(&counts)
        let locations = try await takeLocations(&counts)
        try await takeGroups(locations, &counts)
        try await takeGeofences(locations, &counts)
        return counts
    }

    // MARK: Topics

    private func takeTopics(_ counts: inout Counts) async throws {
        for topic in try await all("/v2/topics", of: "topics") {
            do {
                let expiresAt = topic["expireAt"]?.instant
                let new = try NewTopic(
                    name: topic["name"]?.stringValue ?? "", expiresAt: expiresAt, now: service.admin.now)
                if try await isNew(new) { counts.topics += 1 }
            } catch let error as InvalidInput {
                counts.refused.append("topic \(topic["name"]?.stringValue ?? ""): \(error)")
            }
        }
    }

    private func isNew(_ topic: NewTopic) async throws -> Bool {
        guard !isDryRun else { return try await store.topic(named: topic.name, of: application.key) == nil }
        let result = try await service.services.topics.create(topic, of: application, by: service.author)
        return if case .created = result { true } else { false }
    }

    // MARK: Locations and their groups

    /// The locations here by their ids there.
    private func takeLocations(_ counts: inout Counts) async throws -> [Int64: Key<Location>] {
        var known: [Place: Key<Location>] = [:]
        for location in try await existing({ try await store.locations(of: application.key, $0).elements }) {
            known[location.place] = location.key
        }
        var locations: [Int64: Key<Location>] = [:]
        for found in try await all("/v1/locations", of: "locations") {
            guard let id = found["id"]?.whole, id > 0 else { continue }
            do {
                let place = try Place(
                    name: found["name"]?.stringValue ?? "", latitude: try found.number("lat"),
                    longitude: try found.number("long"), radius: try found.number("rad"))
                if known[place] == nil {
                    // In a dry run groups and geofences need no more than a key that no location here has.
                    known[place] =
                        isDryRun
                        ? Key(-id)
                        : try await service.services.places.create(place, of: application, by: service.author).key
                    counts.locations += 1
                }
                locations[id] = known[place]
            } catch let error as InvalidInput {
                counts.refused.append("location \(id): \(error)")
            }
        }
        return locations
    }

    private func takeGroups(_ locations: [Int64: Key<Location>], _ counts: inout Counts) async throws {
        let here = try await existing({ try await store.locationGroups(of: application.key, $0).elements }).map(\.plan)
        var known = Set(here)
        for group in try await all("/v1/location_groups", of: "location_groups") {
            do {
                let plan = try LocationGroupPlan(
                    name: group["name"]?.stringValue ?? "", summary: group["description"]?.stringValue ?? "",
                    locations: group.ids("locations").compactMap { locations[$0] })
                guard known.insert(plan).inserted else { continue }
                if !isDryRun { _ = try await service.services.places.create(plan, of: application, by: service.author) }
                counts.groups += 1
            } catch let error as InvalidInput {
                counts.refused.append("location group \(group["name"]?.stringValue ?? ""): \(error)")
            }
        }
    }

    /// All that the application has here of one kind.
    private func existing<Item>(_ page: (GeoListQuery) async throws -> [Item]) async throws -> [Item] {
        var items: [Item] = []
        for number in 1... {
            let found = try await page(GeoListQuery(page: number, size: GeoListQuery.sizeMax))
            items += found
            if found.count < GeoListQuery.sizeMax { break }
        }
        return items
    }

    // MARK: Geofences

    private func takeGeofences(_ locations: [Int64: Key<Location>], _ counts: inout Counts) async throws {
        var imports: [GeofenceImport] = []
        for geofence in try await all("/v1/geofence", of: "geofences") {
            guard let id = geofence["id"]?.whole, id > 0 else { continue }
            do throws(InvalidInput) {
                imports.append(
                    GeofenceImport(
                        key: Key(id), plan: try plan(of: geofence, locations),
                        changedAt: geofence["updated_at"]?.instant ?? .zero))
            } catch {
                counts.refused.append("geofence \(id): \(error)")
            }
        }
        let last = try await lastModified() ?? imports.map(\.changedAt).max()
        guard let last else { return }
        counts.geofences = imports.count
        guard !isDryRun else { return }
        let keys = try await service.services.places.importGeofences(
            imports, lastModified: last, of: application, by: service.author)
        for (geofence, key) in zip(imports, keys) where geofence.key != key {
            counts.refused.append("geofence \(geofence.key): its id is taken, it is \(key) here")
        }
    }

    private func plan(of geofence: JSONValue, _ locations: [Int64: Key<Location>]) throws(InvalidInput) -> GeofencePlan
    {
        var keys: [Key<Location>] = []
        for id in geofence.ids("locations") {
            guard let key = locations[id] else {
                throw InvalidInput(field: "locations", "has location \(id), which was not taken over")
            }
            keys.append(key)
        }
        guard let trigger = GeofencePlan.Trigger(rawValue: geofence["trigger_type"]?.stringValue?.lowercased() ?? "")
        else { throw InvalidInput(field: "trigger_type", "is neither enter nor exit") }
        guard case .object(let data)? = geofence["data"] else { throw InvalidInput(field: "data", "is missing") }
        let platform = geofence["platform"]?.stringValue.flatMap { GeofencePlatform(rawValue: $0.lowercased()) } ?? .all
        return try GeofencePlan(
            locations: keys, trigger: trigger, platform: platform,
            tags: try Topic.tags(geofence.texts("tags"), field: "tags"), data: try GeofenceData(data),
            startsAt: geofence["start_time"]?.instant ?? .zero, expiresAt: geofence["expiry_time"]?.instant ?? .zero)
    }

    /// The latest time of a change to geofences, which up-to-date devices send; nil where no platform's secret is known.
    private func lastModified() async throws -> Instant? {
        var last: Instant?
        for (uuid, secret) in secrets {
            let asPlatform = PCFServer.Caller(uuid: uuid, secret: secret)
            let answer = try await server.json("/v1/geofences?timestamp=0", as: asPlatform)
            if let stamp = answer["last_modified"]?.instant { last = max(last ?? .zero, stamp) }
        }
        return last
    }

    // MARK: Schedules

    /// Takes over the schedules that are still to come. One that is here already, for the same time and with the same content, is not
    /// made again. One that fell due since the import began is reported: it is sent by neither server.
    ///
    /// Comes after the devices, which schedules may name.
    func takeSchedules(_ counts: inout Counts) async throws {
        guard case .array(let found) = try await server.json("/v1/schedules", as: caller) else {
            throw PCFFault("/v1/schedules is no list")
        }
        var known: [Instant: [PushRequest]] = [:]
        var last: Schedule?
        repeat {
            let some = try await store.schedules(of: application.key, after: last, limit: 50)
            for schedule in some { known[schedule.dueAt, default: []].append(schedule.pushRequest) }
            last = some.last
        } while last != nil
        for schedule in found {
            guard let push = schedule["push"], let dueAt = schedule["scheduled_for"]?.instant, dueAt > begunAt else {
                continue
            }
            do {
                guard dueAt > service.admin.now else {
                    throw InvalidInput(field: "scheduled_for", "is \(dueAt.text), which passed during the import")
                }
                var json: [UInt8] = []
                json.append(json: push)
                let request = try PCF.PushBody.parse(json, .ignored).pushRequest()
                guard known[dueAt]?.contains(request) != true else { continue }
                if !isDryRun {
                    _ = try await service.pushes.schedule(request, at: dueAt, for: application, by: service.author)
                }
                known[dueAt, default: []].append(request)
                counts.schedules += 1
            } catch let error as InvalidInput {
                counts.refused.append("schedule \(schedule["schedule_id"]?.stringValue ?? ""): \(error)")
            }
        }
    }

    /// All items of a list that comes in pages.
    private func all(_ path: String, of member: String) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        for page in 1... {
            let answer = try await server.json("\(path)?page=\(page)&size=50", as: caller)
            guard case .array(let found)? = answer[member] else { throw PCFFault("\(path) has no list of \(member)") }
            items += found
            guard let pages = answer["totalPages"]?.whole, page < pages, !found.isEmpty else { break }
        }
        return items
    }
}

extension JSONValue {
    /// A whole number, or its digits.
    fileprivate var whole: Int64? {
        switch self {
        case .integer(let number): number
        case .string(let text): Int64(text)
        default: nil
        }
    }

    /// Milliseconds since 1970.
    fileprivate var instant: Instant? { whole.map(Instant.init(milliseconds:)) }

    fileprivate func number(_ field: String) throws(InvalidInput) -> Double {
        switch self[field] {
        case .integer(let number)?: return Double(number)
        case .number(let number)?: return number.double
        case .string(let text)?:
            if let number = Double(text) { return number }
            throw InvalidInput(field: field, "is no number")
        default: throw InvalidInput(field: field, "is no number")
        }
    }

    fileprivate func texts(_ field: String) -> [String] {
        guard case .array(let elements)? = self[field] else { return [] }
        return elements.compactMap(\.stringValue)
    }

    /// Ids of a list that has them bare or in objects.
    fileprivate func ids(_ field: String) -> [Int64] {
        guard case .array(let elements)? = self[field] else { return [] }
        return elements.compactMap { $0.whole ?? $0["id"]?.whole }
    }
}

/// Brings the registrations of an old server over, platform by platform, some pages at a time.
struct PCFDevices {
    let server: PCFServer
    let caller: PCFServer.Caller
    let secrets: [UUID: String]
    let service: ImportService
    let journal: ImportJournal
    var sample: ImportSample?
    private let line = ProgressLine()

    /// The most that one page of the old server has. Source: PCF Push API, "List registrations".
    private static let pageSize = 50
    /// Pages read together, and then written together.
    private static let pagesAtOnce = 16
    /// The place of a platform whose last page was read.
    private static let done = -1

    mutating func take(of platforms: [Platform]) async throws {
        for platform in platforms { try await take(of: platform) }
        line.end()
        try await sample?.ask()
    }

    private mutating func take(of platform: Platform) async throws {
        let part = platform.uuid.lowercased
        var page = journal.state.places[part] ?? 0
        guard page != Self.done else { return }
        while true {
            let pages = Array(page + 1...page + Self.pagesAtOnce)
            let listed = try await concurrently(pages) { [server, caller] page in
                try await server.registrations(of: platform.uuid, page: page, size: Self.pageSize, as: caller)
            }
            let found = listed.flatMap(\.self)
            let told = try await details(found, of: platform)
            let first = journal.state.rows
            let rows = told.enumerated().map { index, outcome in
                ImportReader.Row(number: first + index + 1, outcome: outcome)
            }
            sample?.take(rows)
            let verdicts = try await service.run(rows)
            let full = listed.prefix { $0.count == Self.pageSize }.count
            page += full
            try journal.note(verdicts, at: (part, full == Self.pagesAtOnce ? page : Self.done))
            show(platform)
            guard full == Self.pagesAtOnce else { return }
        }
    }

    /// Reads each device's details, its tags too, with the platform's secret; without the secret the list has to do.
    private func details(
        _ listed: [[UInt8]], of platform: Platform
    ) async throws -> [Result<ImportRow, InvalidInput>] {
        guard let secret = secrets[platform.uuid] else { return listed.map { ImportReader.pcfRow($0, of: platform) } }
        let asPlatform = PCFServer.Caller(uuid: platform.uuid, secret: secret)
        return try await concurrently(listed) { [server] bytes in
            let row = ImportReader.pcfRow(bytes, of: platform)
            guard let id = try? row.get().uuid else { return row }
            let path = "/v1/registration/\(id.lowercased)"
            guard let data = try await server.get(path, as: asPlatform) else { return row }
            return ImportReader.pcfRow(Array(data), of: platform)
        }
    }

    /// Runs the work for each item, some at a time, and returns the results in the order of the items.
    private func concurrently<Item: Sendable, Value: Sendable>(
        _ items: [Item], _ work: @escaping @Sendable (Item) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            var results: [Int: Value] = [:]
            for (index, item) in items.enumerated() {
                while await server.pace.atOnce <= index - results.count, let (place, value) = try await group.next() {
                    results[place] = value
                }
                group.addTask { (index, try await work(item)) }
            }
            for try await (place, value) in group { results[place] = value }
            return items.indices.compactMap { results[$0] }
        }
    }

    private func show(_ platform: Platform) {
        let tally = journal.state.tally
        line.show(
            "\(platform.name): \(tally.rows.grouped) devices so far, \(tally.new.grouped) new, "
                + "\(tally.refused.grouped) refused")
    }
}
