extension PCF {
    /// A topic as a back end writes it: the body of `POST /v2/topics`, and an element of that of `/v2/topics/batch`.
    struct TopicRequest: Sendable {
        private var name: String?
        private var expireAt: Int64?
        private var timeToLive: Int64?
        /// Keys that nothing reads.
        private(set) var ignored = IgnoredFields()

        /// Reads a body; `null` counts as missing.
        ///
        /// - Parameter unknown: what becomes of keys that nothing reads: a topic whose expiry is misspelt never expires.
        static func parse(_ bytes: [UInt8], _ unknown: UnknownFields = .refused) throws(InvalidInput) -> Self {
            var request = Self()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                try request.read(key, unknown, from: &reader, field: "")
            }
            return request
        }

        private static let fields = ["name", "expireAt", "timeToLive"]

        mutating func read(
            _ key: String, _ unknown: UnknownFields, from reader: inout JSONReader, field: String
        ) throws(InvalidInput) {
            switch key {
            case "name": name = try reader.string(field + "name")
            case "expireAt": expireAt = try reader.milliseconds(field + "expireAt")
            case "timeToLive": timeToLive = try reader.integer(field + "timeToLive")
            // An answer has it.
            case "id": try reader.skip()
            default:
                try unknown.take(key, under: field, of: "a topic", known: Self.fields, from: &reader, &ignored)
            }
        }

        /// - Parameter field: the prefix of its field names in errors.
        func topic(at now: Instant, field: String = "") throws(InvalidInput) -> NewTopic {
            guard let name else { throw InvalidInput(field: field + "name", "is missing") }
            return try NewTopic(
                name: name, expiresAt: expireAt.map(Instant.init(milliseconds:)),
                timeToLive: timeToLive.map { .seconds($0) }, now: now, field: field)
        }
    }

    /// The body of `POST /v2/topics/batch`.
    struct TopicBatchRequest: Sendable {
        private(set) var topics: [TopicRequest] = []
        private(set) var returnsTopics = false

        static func parse(_ bytes: [UInt8], _ unknown: UnknownFields = .refused) throws(InvalidInput) -> Self {
            var request = Self()
            var ignored = IgnoredFields()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                switch key {
                case "topics": request.topics = try topics(from: &reader, unknown)
                case "returnTopics": request.returnsTopics = try reader.bool("returnTopics") ?? false
                default:
                    try unknown.take(
                        key, of: "this request", known: ["topics", "returnTopics"], from: &reader, &ignored)
                }
            }
            guard request.topics.count <= NewTopic.batchMax else {
                throw InvalidInput(
                    field: "topics", "has \(request.topics.count) topics, the limit is \(NewTopic.batchMax)")
            }
            return request
        }

        private static func topics(
            from reader: inout JSONReader, _ unknown: UnknownFields
        ) throws(InvalidInput) -> [TopicRequest] {
            var topics: [TopicRequest] = []
            try reader.array("topics") { reader, index throws(InvalidInput) in
                var topic = TopicRequest()
                let field = "topics[\(index)]"
                try reader.object(field) { reader, key throws(InvalidInput) in
                    try topic.read(key, unknown, from: &reader, field: field + ".")
                }
                topics.append(topic)
            }
            return topics
        }
    }

    /// The body of `DELETE /v2/topics/batch`.
    struct TopicDeletion: Sendable {
        private(set) var keys: [Key<Topic>] = []

        static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var request: Self?
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                guard key == "topicIds" else { return try reader.skip() }
                var keys: [Key<Topic>] = []
                try reader.array("topicIds") { reader, index throws(InvalidInput) in
                    let field = "topicIds[\(index)]"
                    guard let id = try reader.integer(field) else {
                        throw InvalidInput(field: field, "has to be a whole number, it is null")
                    }
                    keys.append(Key(id))
                }
                request = Self(keys: keys)
            }
            guard let request else { throw InvalidInput(field: "topicIds", "is missing") }
            guard request.keys.count <= NewTopic.batchMax else {
                throw InvalidInput(
                    field: "topicIds", "has \(request.keys.count) ids, the limit is \(NewTopic.batchMax)")
            }
            return request
        }
    }
}
