import HTTP2Client

/// Batches of different messages as the requests of one HTTP/2 batch: what their messages share are its headers, the rest
/// varies from request to request.
struct APNsBurst {
    private let batches: [APNsBatch]
    /// The place of each device, in order.
    private let places: [Place]

    private struct Place {
        let batch: Int
        let device: Int
    }

    /// - Parameter batches: at least one, and all of one kind; see ``kinds(of:)``.
    init(_ batches: [APNsBatch]) {
        self.batches = batches
        places = batches.indices.flatMap { batch in
            batches[batch].devices.indices.map { Place(batch: batch, device: $0) }
        }
    }

    /// The indices of batches that can share a burst: those whose topic, push type and priority are the same.
    static func kinds(of batches: [APNsBatch]) -> [[Int]] {
        let kinds = Dictionary(grouping: batches.indices) { Kind(batches[$0].message) }
        return kinds.values.sorted { $0[0] < $1[0] }
    }

    private struct Kind: Hashable {
        let topic: String
        let pushType: APNsPushType
        let priority: APNsPriority

        init(_ message: APNsMessage) {
            (topic, pushType, priority) = (message.topic, message.pushType, message.priority)
        }
    }

    var requests: HTTP2Batch { requests(of: places) }

    /// The requests of the devices at these places among all, to be sent again.
    func picking(_ indices: [Int]) -> HTTP2Batch { requests(of: indices.map { places[$0] }) }

    private func requests(of places: [Place]) -> HTTP2Batch {
        var requests = HTTP2Batch(
            headers: batches[0].message.kindHeaders, varying: ["apns-id", "apns-expiration", "apns-collapse-id"],
            body: .own)
        let bytes = batches[0].message.payload.bytes.count + 4 * (batches[0].devices.first?.token.count ?? 0) + 128
        requests.reserve(requests: places.count, bytesPerRequest: bytes)
        for place in places {
            let message = batches[place.batch].message
            let device = batches[place.batch].devices[place.device]
            requests.append { fields in
                fields.write("/3/device/")
                fields.write(hex: device.token)
                fields.end()
                if let id = device.id { fields.write(uuid: id.high, id.low) }
                fields.end()
                if let expiration = message.expiration { fields.write("\(expiration)") }
                fields.end()
                if let collapseID = message.collapseID { fields.write(collapseID) }
                fields.end()
                fields.write(device.payload?.bytes ?? message.payload.bytes)
                fields.end()
            }
        }
        return requests
    }
}
