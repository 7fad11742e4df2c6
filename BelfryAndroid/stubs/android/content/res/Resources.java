package android.content.res;

public class Resources {
    public String getString(int id) { return ""; }
}
