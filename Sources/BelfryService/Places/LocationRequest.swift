import Hummingbird

extension PCF {
    /// The body of `POST /v1/locations` and `PUT /v1/locations/:location_id`.
    struct LocationRequest: Sendable, Hashable {
        private var name: String?
        private var latitude: Double?
        private var longitude: Double?
        private var radius: Double?

        static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var request = Self()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                switch key {
                case "name": request.name = try reader.string(key)
                case "lat": request.latitude = try reader.number(key)
                case "long": request.longitude = try reader.number(key)
                case "rad": request.radius = try reader.number(key)
                default: try reader.skip()
                }
            }
            return request
        }

        /// - Parameter old: supplies missing values; nil when none may be missing.
        func place(over old: Place?) throws(InvalidInput) -> Place {
            try Place(
                name: (name ?? old?.name).given(as: "name"),
                latitude: (latitude ?? old?.latitude).given(as: "lat"),
                longitude: (longitude ?? old?.longitude).given(as: "long"),
                radius: (radius ?? old?.radius).given(as: "rad"))
        }
    }

    /// The body of `POST /v1/location_groups` and `PUT /v1/location_groups/:location_group_id`.
    struct LocationGroupRequest: Sendable, Hashable {
        private var name: String?
        private var summary: String?
        private var locations: [Int64]?

        static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var request = Self()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                switch key {
                case "name": request.name = try reader.string(key)
                case "description": request.summary = try reader.string(key)
                case "location_ids": request.locations = try reader.integers(key)
                default: try reader.skip()
                }
            }
            return request
        }

        /// - Parameter old: supplies missing values; a new group requires only a name.
        func plan(over old: LocationGroupPlan?) throws(InvalidInput) -> LocationGroupPlan {
            try LocationGroupPlan(
                name: (name ?? old?.name).given(as: "name"), summary: summary ?? old?.summary ?? "",
                locations: locations?.map { Key($0) } ?? old?.locations ?? [])
        }
    }
}

extension GeoListQuery {
    /// `page`, `size`, `timestamp` and `q` of a list; a missing or empty one counts as not given.
    init(_ request: Request) throws(InvalidInput) {
        let query = request.query
        let timestamp = try query.integer("timestamp", from: 0)
        self.init(
            page: try query.integer("page", from: 1) ?? 1,
            size: min(try query.integer("size", from: 1) ?? 25, GeoListQuery.sizeMax),
            changedSince: timestamp.map { Instant(milliseconds: Int64($0)) } ?? .distantPast,
            keyword: try query.text("q") ?? "")
    }
}

extension JSONWriter {
    /// One page of a list, under the names that each list has.
    mutating func listing<Item: Sendable>(
        _ listing: ListPage<Item>, _ query: GeoListQuery, key: StaticString, total: StaticString,
        _ write: (inout JSONWriter, Item) -> Void
    ) {
        object { json in
            json.integer("size", Int64(query.size))
            json.integer(total, Int64(listing.total))
            json.integer("totalPages", Int64((listing.total + query.size - 1) / query.size))
            json.integer("page", Int64(query.page))
            json.array(key, listing.elements, write)
        }
    }
}
