import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging

extension Admin {
    /// The version of a thing that a caller saw: the ETag of an answer, which comes back in If-Match, and the hidden field of a form.
    /// Source: RFC 9110 §8.8.3.
    package struct EntityTag: Sendable, Hashable {
        /// The tag in quotes.
        package let text: String

        package init(_ schedule: Schedule) { text = "\"\(schedule.version)\"" }

        /// - Parameter digest: of what it sends.
        init(_ campaign: Campaign, _ digest: String) {
            self.init(digest: ["\(campaign.key)", "\(campaign.version)", digest])
        }

        package init(_ place: Place) {
            self.init(digest: [place.name, "\(place.latitude)", "\(place.longitude)", "\(place.radius)"])
        }

        package init(_ plan: LocationGroupPlan) {
            self.init(digest: [plan.name, plan.summary] + plan.locations.map { "\($0)" })
        }

        package init(_ plan: GeofencePlan) {
            self.init(digest: [
                plan.trigger.rawValue, plan.platform.rawValue, "\(plan.startsAt.milliseconds)",
                "\(plan.expiresAt.milliseconds)", plan.locations.map { "\($0)" }.joined(separator: ","),
                plan.groups.map { "\($0)" }.joined(separator: ","), plan.tags.joined(separator: ","),
                JSONValue.object(plan.data.parts).storedText,
            ])
        }

        private init(digest parts: [String]) {
            text = "\"\(Array(SecretHash.of(parts.joined(separator: "\u{0}")).prefix(12)).hex)\""
        }
    }
}

extension Admin.Call {
    /// Throws unless the request names no version in `If-Match`, any, or this one. Source: RFC 9110 §13.1.1.
    func demandMatch(_ tag: Admin.EntityTag) throws(EditConflict) {
        guard let asked = request.headers[.ifMatch] else { return }
        let tags = asked.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard tags.contains("*") || tags.contains(tag.text) else { throw EditConflict() }
    }
}

extension Response {
    /// This answer with the version that it shows.
    func tagged(_ tag: Admin.EntityTag) -> Response {
        var response = self
        response.headers[.eTag] = tag.text
        return response
    }
}

/// The admin API of version 1: JSON under `/admin/v1`, for operators, their tools and the back ends of tenants.
///
/// docs/AdminAPI.md is the manual for callers.
package enum Admin {
    static let root = "admin/v1"
}
