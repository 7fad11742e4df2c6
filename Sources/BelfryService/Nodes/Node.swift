package import FoundationEssentials

/// A server process, as its last heartbeat describes it.
package struct Node: Sendable, Hashable {
    package let uuid: UUID
    package let host: String
    /// The URL at which it serves, such as `https://10.0.0.7:8080`.
    package let address: String
    package let version: String
    /// The time of its first heartbeat.
    package let since: Instant
    package let lastSeenAt: Instant
    package let batchesInFlight: Int
    package let state: State
    /// The time since its last heartbeat.
    package let silence: Duration

    package enum State: String, Sendable {
        /// It serves and delivers.
        case up
        /// It was told to stop, and finishes its work.
        case draining
        /// It stopped sending heartbeats without deregistering.
        case gone
    }

    /// The time between the heartbeats of a node.
    package static let heartbeatInterval = Duration.seconds(5)
    /// A node silent for longer has missed a heartbeat, and may have died.
    package static let silentAfter = Duration.seconds(10)
    /// A node silent for longer is `gone`.
    package static let goneAfter = Duration.seconds(20)
    /// A node silent for longer is deleted from the list.
    package static let deletedAfter = Duration.seconds(86_400)

    /// Whether it has missed heartbeats. Its batches in flight are sent by others once its leases end.
    package var isSilent: Bool { silence > Self.silentAfter }

    package init(_ report: NodeReport, since: Instant, lastSeenAt: Instant, now: Instant) {
        uuid = report.uuid
        host = report.host
        address = report.address
        version = report.version
        batchesInFlight = report.batchesInFlight
        self.since = since
        self.lastSeenAt = lastSeenAt
        silence = max(.zero, now - lastSeenAt)
        state = now - lastSeenAt > Self.goneAfter ? .gone : report.isDraining ? .draining : .up
    }
}

extension [Node] {
    /// The nodes without those that are gone and replaced: a restarted server is a new node.
    package var withoutReplaced: [Node] {
        let taken = Set(lazy.filter { $0.state != .gone }.map { [$0.host, $0.address] })
        return filter { $0.state != .gone || !taken.contains([$0.host, $0.address]) }
    }
}

/// The content of a node's heartbeat.
package struct NodeReport: Sendable, Hashable {
    /// Drawn when the process starts.
    package let uuid: UUID
    package let host: String
    /// The URL at which it serves.
    package let address: String
    package let version: String
    package var batchesInFlight: Int
    package var isDraining: Bool

    package init(
        uuid: UUID, host: String, address: String = "", version: String, batchesInFlight: Int = 0,
        isDraining: Bool = false
    ) {
        self.uuid = uuid
        self.host = host
        self.address = address
        self.version = version
        self.batchesInFlight = batchesInFlight
        self.isDraining = isDraining
    }
}

/// One node's part of a resource that all nodes share, such as a quota of a provider; equal for all nodes.
package struct NodeShare: Sendable, Hashable {
    /// The number of nodes that share.
    package let nodes: Int

    /// The share of a process that is alone.
    package static let whole = NodeShare(nodes: 1)

    package init(nodes: Int) {
        precondition(nodes >= 1, "this node has a share")
        self.nodes = nodes
    }

    /// - Parameters:
    ///   - nodes: as the store lists them. A node that was told to stop still sends what it began; one that is gone sends
    ///     nothing.
    ///   - own: counts whether it is listed or not.
    package init(of own: UUID, among nodes: [Node]) {
        self.init(nodes: 1 + nodes.count { $0.uuid != own && $0.state != .gone })
    }

    /// Rounded down, so that all parts together do not exceed the whole; but at least one, since otherwise no node
    /// could do anything.
    package func part(of whole: Int) -> Int { max(1, whole / nodes) }
}

extension RateLimit {
    /// The limit for this many callers together.
    package func times(_ count: Int) -> RateLimit {
        guard count > 1 else { return self }
        return RateLimit(perSecond: min(Int(perSecond) * count, 1_000_000), burst: min(Int(burst) * count, 1_000_000))
    }

    package func part(_ share: NodeShare) -> RateLimit {
        RateLimit(perSecond: share.part(of: Int(perSecond)), burst: share.part(of: Int(burst)))
    }
}

/// The reasons why nodes do not send the rest of a push: that none runs, or that some have fallen silent.
package struct NodeTrouble: Sendable, Hashable {
    /// The reason why nothing is sent at present; nil while a node runs.
    package let absence: String?
    /// The nodes that may have died with batches in flight.
    package let silent: [Node]

    package static let none = NodeTrouble([], absence: nil, acceptedAt: .zero)

    /// - Parameter acceptedAt: of the push. A node that was silent before then has nothing of it.
    package init(_ nodes: [Node], absence: String?, acceptedAt: Instant) {
        self.absence = absence
        silent = nodes.filter { $0.isSilent && $0.lastSeenAt + Node.silentAfter >= acceptedAt }
    }

    package var isNone: Bool { absence == nil && silent.isEmpty }

    /// Sentences that say what the rest of a push waits for.
    ///
    /// - Parameter leasesEnd: when the last lease on a part of the push ends; nil while no node has any.
    package func waits(leasesEnd: Instant?, now: Instant) -> [String] {
        let end = leasesEnd.flatMap { $0 > now ? $0 : nil }
        if let absence {
            return [
                "\(absence): the rest is sent once one starts"
                    + (end.map { "; what was being sent when the last one ended, not before \($0.text)" } ?? "")
            ]
        }
        guard let end else { return [] }
        return silent.map {
            "if \($0.inWords), which has not been heard of since \($0.lastSeenAt.text), was sending some of the rest, another node "
                + "sends that by \(end.text)"
        }
    }

    /// A sentence on the next step for a device that has no answer; nil where the nodes make no difference.
    func next(_ next: DeviceDelivery.Next?, now: Instant) -> String? {
        switch (next, absence) {
        case (.nothing?, _): nil
        case (.inFlight(let until)?, let absence?):
            "\(absence): it was being sent when the last one ended, and is sent again once one starts, not before "
                + until.text
        case (.attempt(let at)?, let absence?) where at > now:
            "\(absence): it is sent once one starts, not before \(at.text)"
        case (.attempt?, let absence?): "\(absence): it is sent once one starts"
        case (nil, let absence?): "\(absence): the audience of the push is looked up once one starts"
        case (.inFlight(let until)?, nil):
            silent.last.map {
                "it is being sent; if that was by \($0.inWords), which has not been heard of since \($0.lastSeenAt.text), another node "
                    + "sends it after \(until.text)"
            }
        case (.attempt?, nil), (nil, nil): nil
        }
    }
}

extension Node {
    fileprivate var inWords: String { "node \(host)\(address.isEmpty ? "" : " (\(address))")" }
}

extension Store {
    /// Records a heartbeat, and deletes nodes that were silent for `Node.deletedAfter`.
    package func recordHeartbeat(_ report: NodeReport) async throws {
        try await write { session in
            try session.prepared(NodeStatements.heartbeat).send(
                report.uuid, report.host, report.version, session.now, report.batchesInFlight, report.isDraining,
                report.address)
            try session.prepared(NodeStatements.forget).send(session.now + (.zero - Node.deletedAfter))
        }
    }

    /// Deregisters a node that stops normally.
    package func remove(_ node: UUID) async throws {
        try await write { try $0.prepared(NodeStatements.remove).send(node) }
    }

    /// The longest known first.
    package func nodes() async throws -> [Node] {
        let now = clock.now
        return try await readCommitted { [damagedRows] db in
            try db.prepared(NodeStatements.all).all { row in
                try damagedRows.readable("node \(row.text(1))") { try Node(row, now: now) }
            }.compactMap(\.self)
        }
    }
}

extension Node {
    fileprivate init(_ row: some SQLRow, now: Instant) throws {
        guard let uuid = row.uuid(0) else { throw StoreError.damaged("a node") }
        self.init(
            NodeReport(
                uuid: uuid, host: row.text(1), address: row.text(7), version: row.text(2),
                batchesInFlight: Int(row.integer(5)), isDraining: row.bool(6)),
            since: Instant(milliseconds: row.integer(3)), lastSeenAt: Instant(milliseconds: row.integer(4)), now: now)
    }
}

enum NodeStatements {
    static let heartbeat: SQLText = """
        INSERT INTO node /* nodes.heartbeat */ (uuid, host, version, since_ms, last_seen_at_ms, batch_count, is_draining, address)
        VALUES ($1, $2, $3, $4, $4, $5, $6, $7)
            ON CONFLICT (uuid) DO UPDATE
           SET last_seen_at_ms = excluded.last_seen_at_ms, batch_count = excluded.batch_count,
               is_draining = excluded.is_draining
        """

    /// There are only a few. Skips a row that another node's heartbeat has locked.
    static let forget: SQLText = """
        DELETE FROM node /* nodes.forget */
         WHERE uuid IN (SELECT uuid FROM node WHERE last_seen_at_ms < $1 \(SQLText.forUpdateSkipLocked))
        """

    static let remove: SQLText = "DELETE FROM node /* nodes.remove */ WHERE uuid = $1"

    static let all: SQLText = """
        SELECT uuid, host, version, since_ms, last_seen_at_ms, batch_count, is_draining, address /* nodes.all */
          FROM node
         ORDER BY since_ms, uuid
        """
}

extension Schema {
    static let node = SchemaPart(
        [StoreTable("node", rows: .operators, key: "uuid", isCopied: false)],
        sql: """
            -- See `Node`. A node writes only its own row.
            CREATE TABLE node (
                \(uuid: "uuid", "NOT NULL PRIMARY KEY"),
                host text NOT NULL,
                version text NOT NULL,
                since_ms \(.bigint) NOT NULL,
                last_seen_at_ms \(.bigint) NOT NULL,
                batch_count \(.bigint) NOT NULL CHECK (batch_count >= 0),
                \(flag: "is_draining", false),
                address text NOT NULL DEFAULT ''
            ) \(.byKey);
            """)
}
