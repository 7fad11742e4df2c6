import BelfryAPI
import BelfryService
import FoundationEssentials

/// A push request as the admin API takes it, with nothing left out.
extension PushRequest {
    func json(sendAt: Instant? = nil) -> JSONValue {
        var members: JSONObject = ["message": content.json, "target": target.json]
        members["urgency"] = lane.map { .string($0.word) }
        if guarantee == .atMostOnce { members["at_most_once"] = .bool(true) }
        members["expires_at"] = expiresAt.map { .string($0.text) }
        members["send_at"] = sendAt.map { .string($0.text) }
        return .object(members)
    }
}
