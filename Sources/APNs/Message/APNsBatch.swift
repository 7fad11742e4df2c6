import HTTP2Client

/// One message and the devices it goes to.
public struct APNsBatch: Sendable {
    public let message: APNsMessage
    public let devices: [APNsDevice]

    public init(message: APNsMessage, devices: [APNsDevice]) {
        self.message = message
        self.devices = devices
    }
}

/// One device of a batch.
public struct APNsDevice: Sendable, Hashable {
    /// The length of a token. Apple warns that it varies; today 32, for Live Activities up to 100.
    public static let tokenBytes = 1...100

    public let token: [UInt8]
    /// Sent as `apns-id`; nil lets APNs create one.
    public let id: APNsID?
    /// Replaces the payload of the message.
    public let payload: APNsPayload?

    /// - Parameter token: the raw bytes the device registered.
    public init(token: [UInt8], id: APNsID? = nil, payload: APNsPayload? = nil) throws(APNsMessageError) {
        guard Self.tokenBytes.contains(token.count) else { throw .deviceToken(bytes: token.count) }
        self.token = token
        self.id = id
        self.payload = payload
    }
}

extension APNsBatch {
    /// The batch as requests. Repeated headers may be indexed by the header compressor, differing ones must not be, or
    /// they would evict the rest from the table. Source: Apple, "Sending notification requests to APNs", HPACK.
    var requests: HTTP2Batch {
        let isPersonal = devices.contains { $0.payload != nil }
        var batch = HTTP2Batch(
            headers: message.headers, varying: ["apns-id"],
            body: isPersonal ? .own : .shared(message.payload.bytes))
        let pathBytes = "/3/device/".utf8.count + 2 * (devices.first?.token.count ?? 0)
        batch.reserve(requests: devices.count, bytesPerRequest: pathBytes + 36)
        for device in devices {
            batch.append { fields in
                fields.write("/3/device/")
                fields.write(hex: device.token)
                fields.end()
                if let id = device.id { fields.write(uuid: id.high, id.low) }
                fields.end()
                guard isPersonal else { return }
                fields.write(device.payload?.bytes ?? message.payload.bytes)
                fields.end()
            }
        }
        return batch
    }

    /// Returns a batch with this message for the devices at `indices`.
    func picking(_ indices: [Int]) -> APNsBatch {
        APNsBatch(message: message, devices: indices.map { devices[$0] })
    }
}

extension APNsMessage {
    /// The headers that messages of one kind share.
    var kindHeaders: [HTTP2Header] {
        [
            HTTP2Header("apns-topic", topic),
            HTTP2Header("apns-push-type", pushType.rawValue),
            HTTP2Header("apns-priority", "\(priority.rawValue)"),
        ]
    }

    /// The headers all devices share.
    var headers: [HTTP2Header] {
        var headers = kindHeaders
        if let expiration { headers.append(HTTP2Header("apns-expiration", "\(expiration)", indexing: .never)) }
        if let collapseID { headers.append(HTTP2Header("apns-collapse-id", collapseID, indexing: .never)) }
        return headers
    }
}
