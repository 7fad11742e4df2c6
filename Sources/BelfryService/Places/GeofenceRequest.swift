extension PCF {
    /// The body of `POST /v1/geofence` and `PUT /v1/geofence/:geofence_id`.
    struct GeofenceRequest: Sendable, Hashable {
        private var locations: [Int64]?
        private var groups: [Int64]?
        private var trigger: GeofencePlan.Trigger?
        private var platform: GeofencePlatform?
        private var tags: [String]?
        private var data: GeofenceData?
        private var startsAt: Instant?
        private var expiresAt: Instant?
        /// Keys that nothing reads.
        private var ignored = IgnoredFields()

        /// Reads a body; `null` counts as missing.
        ///
        /// - Parameter unknown: what becomes of keys that nothing reads, for a time or a tag that is misspelt shows a fence to others.
        static func parse(_ bytes: [UInt8], _ unknown: UnknownFields = .refused) throws(InvalidInput) -> Self {
            var request = Self()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                try request.read(key, unknown, from: &reader)
            }
            return request
        }

        private static let fields = [
            "locations", "location_groups", "trigger_type", "platform", "tags", "data", "start_time", "expiry_time",
        ]
        /// Further fields of an answer, for callers that change an answer and send it back.
        private static let answered: Set = ["id", "created_at", "updated_at"]

        private mutating func read(
            _ key: String, _ unknown: UnknownFields, from reader: inout JSONReader
        ) throws(InvalidInput) {
            switch key {
            case "locations": locations = try Self.locations(key, from: &reader)
            case "location_groups": groups = try reader.integers(key)
            case "trigger_type": trigger = try Self.word(try reader.string(key), key)
            case "platform": platform = try Self.word(try reader.string(key), key)
            case "tags":
                tags = try reader.strings(key).map { names throws(InvalidInput) in
                    try Topic.tags(names, field: key)
                }
            case "data":
                if let members = try reader.members(key) { data = try GeofenceData(members) }
            case "start_time": startsAt = try reader.milliseconds(key).map(Instant.init(milliseconds:))
            case "expiry_time": expiresAt = try reader.milliseconds(key).map(Instant.init(milliseconds:))
            case _ where Self.answered.contains(key): try reader.skip()
            default:
                try unknown.take(key, of: "a geofence", known: Self.fields, from: &reader, &ignored)
            }
        }

        /// The ids of locations, or the locations of an answer.
        private static func locations(_ field: String, from reader: inout JSONReader) throws(InvalidInput) -> [Int64]? {
            if try reader.null() { return nil }
            var ids: [Int64] = []
            try reader.array(field) { reader, index throws(InvalidInput) in
                let isAnswer = reader.isAtObject()
                let name = "\(field)[\(index)]" + (isAnswer ? ".id" : "")
                var id: Int64?
                if isAnswer {
                    try reader.object(name) { reader, key throws(InvalidInput) in
                        if key == "id" { id = try reader.integer(name) } else { try reader.skip() }
                    }
                } else {
                    id = try reader.integer(name)
                }
                guard let id else { throw InvalidInput(field: name, "has to be a whole number, it is null") }
                ids.append(id)
            }
            return ids
        }

        /// Mistakes that the caller should learn of, since a geofence that no device shows is accepted, as in PCF. Throws on a misspelt
        /// key, unless such keys are ignored.
        func mistakes(in plan: GeofencePlan, _ unknown: UnknownFields, at now: Instant) throws(InvalidInput)
            -> IgnoredFields
        {
            var ignored = ignored
            for stranger in plan.data.strangers where data != nil {
                if unknown == .refused, let meant = stranger.meant {
                    throw InvalidInput.unknown(
                        stranger.prefix + stranger.key, stranger.key, notOf: "a key that devices read",
                        known: stranger.known, meant: meant)
                }
                ignored.note(stranger.key, under: stranger.prefix, known: stranger.known, always: true)
            }
            if !plan.data.isShown(on: plan.platform) {
                ignored.remark("data has nothing that devices of platform \(plan.platform.rawValue) show")
            }
            if plan.expiresAt <= now { ignored.remark("expiry_time is over, no device shows the geofence") }
            return ignored
        }

        /// - Parameters:
        ///   - old: supplies missing values; nil for a new geofence.
        ///   - shown: its locations, with those of its groups.
        func plan(over old: GeofencePlan?, shown: [Location] = []) throws(InvalidInput) -> GeofencePlan {
            let groups = self.groups?.map { Key<LocationGroup>($0) } ?? old?.groups
            // A caller that sends an answer back does so with the locations of the groups.
            let keepsGroups = Set(groups ?? []).isSuperset(of: old?.groups ?? [])
            let ofGroups = keepsGroups ? Set(shown.map(\.key)).subtracting(old?.locations ?? []) : []
            let own = locations?.map { Key<Location>($0) }.filter { !ofGroups.contains($0) }
            return try GeofencePlan(
                locations: (own ?? old?.locations ?? groups.map { _ in [] }).given(as: "locations"),
                groups: groups ?? [],
                trigger: (trigger ?? old?.trigger).given(as: "trigger_type"),
                platform: platform ?? old?.platform ?? .all, tags: tags ?? old?.tags ?? [],
                data: (data ?? old?.data).given(as: "data"), startsAt: startsAt ?? old?.startsAt ?? .zero,
                expiresAt: (expiresAt ?? old?.expiresAt).given(as: "expiry_time"))
        }

        /// One of a few values, in any case; `""` counts as missing.
        private static func word<Word: RawRepresentable<String> & CaseIterable>(
            _ text: String?, _ field: String
        ) throws(InvalidInput) -> Word? {
            guard let text, !text.isEmpty else { return nil }
            guard let word = Word(rawValue: text.lowercased()) else {
                let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput(field: field, "is '\(text)', it has to be one of \(words)")
            }
            return word
        }
    }
}
