import BelfryCore
import PostgreSQL

/// nil when the row makes no sense. What is the database's own trouble is thrown.
func readable<Value>(_ read: () throws -> Value) throws -> Value? {
    do {
        return try read()
    } catch let error as PostgresError {
        throw error
    } catch {
        return nil
    }
}

extension WriteSession {
    /// Puts a page that was just claimed out of the way of the others; returns nil.
    func setAside(_ page: Key<Page>) throws -> Page? {
        try prepared(DamageStatements.setPageAside).run(now + Damage.setAsideFor, page)
        effects.damaged.append("page \(page)")
        return nil
    }

    /// Puts a walk whose push cannot be read out of the way of the others; returns nil.
    func setAside(walkOf push: Key<Push>, on platform: Key<Platform>) throws -> Walk? {
        try prepared(DamageStatements.setWalkAside).run(now + Damage.setAsideFor, push, platform)
        effects.damaged.append("push \(push)")
        return nil
    }
}

enum DamageStatements {
    /// Takes the claim back, which nobody heard of.
    static let setPageAside = """
        UPDATE page /* damage.set_page_aside */ SET due_at_ms = $1, carry_count = carry_count - 1 WHERE id = $2
        """

    static let setWalkAside = """
        UPDATE walk /* damage.set_walk_aside */ SET due_at_ms = $1 WHERE push_id = $2 AND platform_id = $3
        """
}
